/// The laps of a trace that keeps only the last part of a run.
#pragma once

#include "trace/layout.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace umadvisor::record {

/// A ring is written in laps, each an eighth of its length. A new lap begins with what is then alive, so that
/// the laps before it can go. The places of their chunks in the file are used again. Not thread-safe, but for
/// is_due(): the owner's lock covers it.
class RingLaps {
public:
    static constexpr std::uint32_t most = 8; ///< laps kept, the one that is written included

    constexpr RingLaps() noexcept = default;

    /// Begins a ring of `bytes`, or of `nanoseconds`; both 0: the trace is none. `places` is how many chunks
    /// the file can hold. False without memory.
    bool begin(std::uint64_t bytes, std::uint64_t nanoseconds, std::uint64_t places, trace::ClockPair time,
               std::uint64_t now) noexcept;

    /// The trace has ended: no lap is due any more.
    void end() noexcept {
        any_ = full_ = false;
        due_ = ~std::uint64_t{0};
    }

    /// Whether this is a ring.
    bool any() const noexcept { return any_.load(std::memory_order_relaxed); }
    bool is_due(std::uint64_t now) const noexcept {
        return now >= due_.load(std::memory_order_relaxed) || full_.load(std::memory_order_relaxed);
    }
    std::uint32_t first() const noexcept { return first_; } ///< lap that is still there
    std::uint32_t last() const noexcept { return last_; }   ///< lap that is written; 0: no ring
    trace::ClockPair beginning() const noexcept { return of(first_).time; }
    std::uint64_t last_beginning() const noexcept { return of(last_).time.ticks; }

    /// `now`: CLOCK_MONOTONIC, which is not that of a simulated clock.
    void next(trace::ClockPair time, std::uint64_t now) noexcept;

    /// A chunk in this place belongs to the lap that is written.
    void give(std::uint32_t place) noexcept { lap_of_[place] = last_; }
    void add(std::uint32_t lap, std::uint64_t bytes) noexcept;

    /// Gives up the first lap, and returns the bytes that it had. `places`: how many the file has so far.
    std::uint64_t drop_first(std::uint32_t places) noexcept;

    /// A place that a lap has given up; false: there is none.
    bool take_place(std::uint32_t& place) noexcept {
        if (free_count_ == 0)
            return false;
        place = free_[--free_count_];
        return true;
    }

    /// Nothing came of it.
    void return_place(std::uint32_t place) noexcept { free_[free_count_++] = place; }

private:
    struct Lap {
        trace::ClockPair time; ///< when it began
        std::uint64_t bytes;
    };
    Lap& of(std::uint32_t lap) noexcept { return laps_[lap % most]; }
    const Lap& of(std::uint32_t lap) const noexcept { return laps_[lap % most]; }

    std::array<Lap, most> laps_{};
    std::uint32_t first_ = 0, last_ = 0;
    std::uint64_t lap_ns_ = 0, lap_bytes_ = 0;
    std::atomic<std::uint64_t> due_{~std::uint64_t{0}}; ///< CLOCK_MONOTONIC
    std::atomic<bool> any_{false}, full_{false};
    std::uint32_t* lap_of_ = nullptr; ///< by place
    std::uint32_t* free_ = nullptr;   ///< places
    std::uint32_t free_count_ = 0;
};

} // namespace umadvisor::record
