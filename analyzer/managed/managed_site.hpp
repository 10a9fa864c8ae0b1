/// What happened to the managed memory of one allocating line, and who made it happen.
#pragma once

#include "analyzer/facts/running_launches.hpp"
#include "analyzer/ids/allocation_site.hpp"
#include "analyzer/managed/block_history.hpp"
#include "analyzer/managed/device_turns.hpp"
#include "analyzer/managed/managed_tally.hpp"
#include "analyzer/managed/managed_totals.hpp"
#include "analyzer/managed/tally.hpp"

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <vector>

namespace umadvisor::managed {

struct ManagedAllocation;

/// What one possible cause is assumed to have caused; several get even shares.
struct MoverShare {
    double bytes = 0, faults = 0;
    double shared = 0; ///< of both together, what others were candidates for, too
    void add(const MoverShare& other);
};

/// Kernels by their share. Memory: `most` of them; what further ones did is in `others`.
struct KernelShares {
    static constexpr std::size_t most = 64;
    std::map<facts::KernelSite, MoverShare> sites;
    MoverShare others; ///< beyond `most`
    MoverShare nobody; ///< there was no candidate

    void add(std::span<const facts::KernelSite> candidates, double bytes, double faults);
};

struct PrefetchSite : ids::CallSite {
    bool by_umadvisor = false;
    auto operator<=>(const PrefetchSite&) const = default;
};

struct HostAccess {
    std::uint64_t faults = 0, bytes = 0; ///< bytes that came back for it
};

/// A block of one of the allocations.
struct BlockOfAllocation {
    trace::AllocationId allocation{};
    std::uint64_t offset = 0, bytes = 0;
    BlockActivity activity;
};

/// Where one allocation was, from its beginning to its end.
struct AllocationLife {
    trace::AllocationId allocation{};
    std::uint64_t bytes = 0;
    std::uint64_t from = 0, until = 0; ///< ticks; until 0: to the end
    std::deque<Stay> stays;
    std::uint64_t left_out = 0; ///< stays, in the middle
};

/// How much of something lies inside the ranges that are looked at.
struct InsidePart {
    double inside = 0, all = 0;
    void add(double amount, bool is_inside) {
        all += amount;
        inside += is_inside ? amount : 0;
    }
    void add(const InsidePart& other) {
        inside += other.inside;
        all += other.all;
    }
};

/// Its part of what the driver's totals grew by from one reading to the next.
struct TotalsShare {
    MovedBytes all;   ///< with what may as well be other memory's
    MovedBytes least; ///< that no other memory can have moved
    MovedBytes alone; ///< of this, beyond recorded moves, what moved while nothing else was used

    void add(const TotalsShare& other) {
        all.add(other.all);
        least.add(other.least);
        alone.add(other.alone);
    }
};

/// Memory: bounded, whatever happens.
struct ManagedSiteActivity {
    static constexpr std::size_t most_codes = 256, most_prefetch_sites = 64, most_blocks = 32,
                                 most_neighbours = 8;

    InsidePart moves, launches; ///< moves: bytes that migrated; launches: that reach it
    bool read_mostly = false;   ///< it may lie on both sides
    /// Advice of the program that lets kernels reach it across the link: the first of each kind.
    ids::StackId preferred_on_host{}, mapped_by_device{};
    ManagedTally recorded; ///< events
    TotalsShare shares;
    std::uint64_t held = 0;                         ///< bytes of all its allocations, in whole pages
    MovedBytes seen;                                ///< by stays
    KernelShares kernels;                           ///< that pulled it to the device
    KernelShares evictors;                          ///< that ran when it had to make room
    std::map<std::uint64_t, HostAccess> host_codes; ///< by frame; 0: those of which no more is known
    std::map<PrefetchSite, MovedBytes> prefetches;  ///< stack 0: those beyond the bound and unknown ones
    std::vector<BlockOfAllocation> blocks;          ///< with the most traffic
    std::uint64_t blocks_seen = 0, round_trips = 0; ///< of all blocks
    DevicePairs devices;                            ///< that take it from each other
    std::set<ids::AllocationSite> neighbours;       ///< other ones with memory in a granule of this
    VerdictTally verdicts;
    LateCandidates late;
    std::uint64_t made = 0, made_and_returned = 0; ///< bytes that kernels used first; and that came to the host
    AllocationLife life; ///< of the allocation that moved most; the first of equal ones

    /// The share of its moves inside the ranges that are looked at; of its launches where no move was recorded.
    double inside_share() const {
        const InsidePart& part = moves.all > 0 ? moves : launches;
        return part.all > 0 ? part.inside / part.all : 0;
    }
    void touched_by_host(std::uint64_t code, std::uint64_t faults, std::uint64_t bytes);
    void prefetched(const PrefetchSite& site, MoveDirection direction, std::uint64_t bytes);
    /// The end of an allocation: of its blocks those with the most traffic are kept.
    void take_blocks(const ManagedAllocation& allocation);
    void add(const ManagedSiteActivity& other);
    void made_by_kernels(const Stays& stays);
    void stands_beside(const ids::AllocationSite& other) {
        if (neighbours.size() < most_neighbours)
            neighbours.insert(other);
    }
    /// Takes from the least shares what cannot have moved, and returns it: memory that lies on one side at a
    /// time goes to a side at most once more than it comes back from there.
    MovedBytes limit_least_shares();
    /// Keeps where the allocation was, if it moved more than the one kept so far.
    void take_life(const ManagedAllocation& allocation);

    bool empty() const {
        return recorded.events == 0 && !shares.all.any() && !seen.any() && verdicts.kinds().empty();
    }

private:
    bool moved_more(const std::deque<Stay>& stays) const;
    void keep_largest_blocks();
};

} // namespace umadvisor::managed
