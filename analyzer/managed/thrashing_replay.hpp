/// The driver's rule for thrashing, applied to the migrations that a trace records.
#pragma once

#include "residency/thrashing.hpp"
#include "trace/managed_records.hpp"

#include <cstdint>
#include <deque>
#include <unordered_map>

namespace umadvisor::managed {

/// Pages of 4 KiB, each counted once in a stretch of time that its block was followed.
struct ThrashingPages {
    std::uint64_t told = 0;   ///< by the driver's own events
    std::uint64_t found = 0;  ///< by the rule
    std::uint64_t agreed = 0; ///< both
};

/// Takes events roughly in the order of time. Memory: `most_blocks` blocks, of which the one that came first
/// makes room, at 9 KiB each.
class ThrashingReplay {
public:
    static constexpr std::size_t most_blocks = 1024;

    ThrashingReplay(double ns_per_tick, const residency::ThrashingParameters& parameters)
        : ns_per_tick_(ns_per_tick), parameters_(parameters) {}

    /// Migrations and thrashing events; others say nothing. Returns the pages that the rule newly finds.
    std::uint64_t add(const trace::ManagedEvent& event);
    /// Includes the blocks that are still followed.
    ThrashingPages pages() const;

private:
    struct Followed {
        residency::BlockThrashing thrashing;
        residency::PageMask told, found;
        ThrashingPages pages() const;
    };
    Followed& follow(std::uint64_t block);

    double ns_per_tick_;
    residency::ThrashingParameters parameters_;
    std::unordered_map<std::uint64_t, Followed> blocks_; ///< by block number
    std::deque<std::uint64_t> order_;                    ///< of blocks_, the oldest first
    ThrashingPages left_;                                ///< of blocks that had to make room
};

} // namespace umadvisor::managed
