/// Launches that a thread has made, by all that determines their shape, so that a repeated launch needs no
/// look-up of what it reaches.
#pragma once

#include "interposer/record/fingerprint.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace umadvisor::record {

/// The fingerprint of the words that determine a launch's shape.
using LaunchKey = Fingerprint;

/// Belongs to one thread. All zeros: empty.
struct LaunchMemo {
    static constexpr int bits = 10;
    static constexpr std::size_t ways = 2; ///< of a set, in one line of the cache

    /// Reading the clock takes a third of what a launch may cost, so one launch of sixteen or so is measured,
    /// at random so that a periodic program does not measure the same launches each time.
    struct Entry {
        Fingerprint::Value key;
        std::uint32_t head;     ///< of its record (trace::BriefLaunch)
        std::uint16_t left;     ///< launches until one is measured, that one included
        std::uint16_t interval; ///< what `left` counts from
        std::uint32_t period;   ///< launches for which the device timer is asked once
        std::uint32_t unasked;  ///< launches since the device timer was asked

        /// The low bits of `start`, the time of the launch before, serve as a random number.
        void draw(std::uint64_t start) noexcept {
            const std::uint32_t drawn = 9 + static_cast<std::uint32_t>(start * 0x9e3779b97f4a7c15u >> 60);
            left = interval = static_cast<std::uint16_t>(std::clamp(period - unasked, 1u, drawn));
        }
    };
    struct alignas(64) Set {
        Entry entries[ways];
    };
    Set sets[std::size_t{1} << bits];

    /// Null if `key` is not remembered.
    [[gnu::always_inline]] Entry* find(const Fingerprint::Value& key) noexcept {
        for (Entry& entry : sets[set_of(key)].entries)
            if (entry.key == key)
                return &entry;
        return nullptr;
    }

    /// Replaces the oldest entry of the set.
    void remember(const Fingerprint::Value& key, std::uint32_t head, std::uint32_t period) noexcept {
        if (find(key) != nullptr)
            return;
        Set& set = sets[set_of(key)];
        set.entries[1] = set.entries[0];
        Entry& entry = set.entries[0];
        entry = {.key = key, .head = head, .left = 0, .interval = 0, .period = period, .unasked = 0};
        entry.draw(key.low);
    }

private:
    static std::size_t set_of(const Fingerprint::Value& key) noexcept {
        return static_cast<std::size_t>(key.low >> (64 - bits)); // each bit depends on every bit of every word
    }
};
static_assert(sizeof(LaunchMemo::Set) == 64 && LaunchMemo::ways == 2);

} // namespace umadvisor::record
