/// How the threads copy, learned from how long it took: machines differ more than a constant could tell.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace umadvisor::act {

/// One way to share a piece's copy among the pool.
struct StageManner {
    unsigned threads; ///< beside the caller
    bool past_caches; ///< where the ring stays in a cache that the device reads from, that is slower
};

/// Of one direction. Long copies go in runs of pieces; each manner is tried for a run, then the fastest is
/// kept, and another tried now and then. Thread-safe; what two threads tell at once may be lost.
class StageChoice {
public:
    static constexpr std::size_t run_pieces = 16; ///< 64 MiB
    /// Of a copy that is worth trying on: in shorter ones the ring is not in a cache yet.
    static constexpr std::size_t least_pieces = 2 * run_pieces;
    static constexpr unsigned manners = 4;

    /// The first is what other copies go by.
    constexpr explicit StageChoice(const StageManner (&known)[manners]) noexcept
        : known_{known[0], known[1], known[2], known[3]} {}

    StageManner usual() const noexcept { return known_[0]; }
    StageManner manner(unsigned number) const noexcept { return known_[number]; }

    /// Number of the manner for the next run.
    unsigned next() noexcept;

    /// A run, or the part of it that was looked at, took `nanoseconds`.
    void took(unsigned manner, std::uint64_t bytes, std::uint64_t nanoseconds) noexcept;

private:
    static constexpr std::uint32_t trial_every = 64; ///< runs, 2 GiB

    StageManner known_[manners];
    std::atomic<std::uint64_t> cost_[manners] = {}; ///< picoseconds a byte, smoothed; 0: not tried
    std::atomic<std::uint32_t> runs_{0};
};

} // namespace umadvisor::act
