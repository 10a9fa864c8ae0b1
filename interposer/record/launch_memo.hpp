/// Launches a thread has made, by everything their shape follows from, so that one that comes again costs no
/// look-up of what it reaches.
#pragma once

#include "interposer/record/fingerprint.hpp"

#include <cstddef>
#include <cstdint>

namespace umadvisor::record {

/// The words a launch's shape is a function of.
using LaunchKey = Fingerprint;

/// Belongs to one thread. All zeros: empty.
struct LaunchMemo {
    static constexpr int bits = 10;
    static constexpr std::size_t ways = 2; ///< of a set, in one line of the cache

    struct Entry {
        Fingerprint::Value key;
        std::uint64_t serial; ///< of the shape's definition; 0: empty
        std::uint32_t period; ///< launches for which the device timer is asked once
        std::uint32_t left;   ///< of them
    };
    struct alignas(64) Set {
        Entry entries[ways];
    };
    Set sets[std::size_t{1} << bits];

    /// Null when `key` is not remembered.
    [[gnu::always_inline]] Entry* find(const Fingerprint::Value& key) noexcept {
        for (Entry& entry : sets[place(key)].entries)
            if (entry.key == key && entry.serial != 0)
                return &entry;
        return nullptr;
    }

    /// The oldest of the set makes room.
    void remember(const Fingerprint::Value& key, std::uint64_t serial, std::uint32_t period) noexcept {
        Entry* entry = find(key);
        if (entry == nullptr) {
            Set& set = sets[place(key)];
            entry = set.entries[0].serial <= set.entries[1].serial ? &set.entries[0] : &set.entries[1];
            entry->key = key;
        }
        entry->serial = serial;
        entry->period = entry->left = period;
    }

private:
    static std::size_t place(const Fingerprint::Value& key) noexcept {
        return static_cast<std::size_t>((key.low ^ key.high) * 0x9e3779b97f4a7c15u >> (64 - bits));
    }
};
static_assert(sizeof(LaunchMemo::Set) == 64);

} // namespace umadvisor::record
