/// Launches a thread has made, by everything their shape follows from, so that one that comes again costs no
/// look-up of what it reaches.
#pragma once

#include "interposer/record/fingerprint.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace umadvisor::record {

/// The words a launch's shape is a function of.
using LaunchKey = Fingerprint;

/// Belongs to one thread. All zeros: empty.
struct LaunchMemo {
    static constexpr int bits = 10;
    static constexpr std::size_t ways = 2; ///< of a set, in one line of the cache

    /// A reading of the clock takes a third of what a launch may cost, so one of sixteen or so is measured,
    /// drawn so that no rhythm of the program's falls into step with it.
    struct Entry {
        Fingerprint::Value key;
        std::uint32_t head;     ///< of its record (trace::BriefLaunch)
        std::uint16_t left;     ///< launches until one is measured, that one included
        std::uint16_t interval; ///< what `left` counts from
        std::uint32_t period;   ///< launches for which the device timer is asked once
        std::uint32_t untold;   ///< of them, that it knows nothing of yet

        /// `start` of the launch before is as good as a die.
        void draw(std::uint64_t start) noexcept {
            const std::uint32_t drawn = 9 + static_cast<std::uint32_t>(start * 0x9e3779b97f4a7c15u >> 60);
            left = interval = static_cast<std::uint16_t>(std::clamp(period - untold, 1u, drawn));
        }
    };
    struct alignas(64) Set {
        Entry entries[ways];
    };
    Set sets[std::size_t{1} << bits];

    /// Null when `key` is not remembered.
    [[gnu::always_inline]] Entry* find(const Fingerprint::Value& key) noexcept {
        for (Entry& entry : sets[place(key)].entries)
            if (entry.key == key)
                return &entry;
        return nullptr;
    }

    /// The oldest of the set makes room.
    void remember(const Fingerprint::Value& key, std::uint32_t head, std::uint32_t period) noexcept {
        if (find(key) != nullptr)
            return;
        Set& set = sets[place(key)];
        set.entries[1] = set.entries[0];
        Entry& entry = set.entries[0];
        entry = {.key = key, .head = head, .left = 0, .interval = 0, .period = period, .untold = 0};
        entry.draw(key.low);
    }

private:
    static std::size_t place(const Fingerprint::Value& key) noexcept {
        return static_cast<std::size_t>(key.low >> (64 - bits)); // to which every bit of every word leads
    }
};
static_assert(sizeof(LaunchMemo::Set) == 64 && LaunchMemo::ways == 2);

} // namespace umadvisor::record
