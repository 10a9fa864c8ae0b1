/// Allocations: the live ones one by one, the freed ones added up by where they were made.
#pragma once

#include "analyzer/facts/cached_map.hpp"
#include "analyzer/ids/allocation_site.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/tables/launches.hpp"
#include "trace/event_records.hpp"
#include "trace/managed_records.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace umadvisor::tables {

/// The first launch on managed memory that was on the host: its device time can be compared with later
/// launches. Where looks show that it left some there, the next launch is the first on that.
struct FirstLaunch {
    std::uint64_t sample = 0;
    std::uint64_t bytes =
        0; ///< that were on the host, and have gone as far as looks show; 0: not known how many
    LaunchGroup group;
    bool seen = false; ///< a look between it and the next launch has shown what went
};

/// The first launch on managed memory that nothing had used before: its faults populate the pages.
struct PopulatingLaunch {
    FirstLaunch launch;
    ids::StackId stack{};
};

/// Memory whose pages launches populated, one part after the other: the driver counted faults of devices and
/// moved nothing.
struct PopulatedParts {
    struct Launches {
        double count = 0; ///< launches that make pages of several allocations count in parts
        ids::StackId stack{};
    };
    std::uint64_t bytes = 0; ///< of the allocations, which may have pages in part
    double faults = 0;
    std::map<LaunchGroup, Launches> launches; ///< at most a few

    void add(const PopulatedParts& other);
    void launch(const LaunchGroup& group, ids::StackId stack, double count);
};

struct AllocationTotals {
    std::uint64_t count = 0, failed = 0, bytes = 0, ticks = 0, largest = 0;
    std::uint64_t live = 0, live_bytes = 0, peak_bytes = 0; ///< live at the end
    std::uint64_t observed = 0;                             ///< managed ones whose residency was sampled
    std::vector<FirstLaunch> first_launches;                ///< those that were sampled; at most a few
    std::vector<PopulatingLaunch> populating;               ///< the same
    std::uint64_t populated_untimed = 0; ///< bytes that launches made, of which no device time is known
    PopulatedParts parts;
};

/// What the program has at a moment, by where it was made.
struct Holding {
    ids::AllocationSite site;
    std::uint64_t count = 0, bytes = 0;
};

class Allocations {
public:
    /// `samples` must outlive it.
    explicit Allocations(facts::Samples& samples) : samples_(samples) {}

    void add(const trace::Alloc& record);
    void add(const trace::Free& record);
    void launch(const trace::Launch& record, const reader::Shape& shape) {
        if (any_managed_ && record.status == 0)
            reach_all(record, shape);
    }
    /// A launched graph has a kernel that may reach `allocation`, after its copies and memory sets.
    void reach(trace::AllocationId allocation, const LaunchGroup& group) {
        touch(allocation);
        reach(allocation, group, 0, {});
    }
    void add(const trace::Residency& record);
    void add(const trace::Sync& record);
    void add(const trace::ManagedCounters& record);
    // No launch populates what these touch.
    void add(const trace::Prefetch& record) { touch(record.allocation); }
    void add(const trace::Set& record) { touch(record.allocation); }
    /// Advice may say that its pages are to be on the host.
    void add(const trace::Advise& record) { touch(record.allocation); }
    void add(const trace::Copy& record) {
        touch(record.source_allocation);
        touch(record.destination_allocation);
    }

    const std::map<ids::AllocationSite, AllocationTotals>& sites() const { return sites_.map(); }
    /// What is live now, of memory of the host or of devices.
    std::vector<Holding> holdings(bool of_host) const;
    /// A sampled launch that was the first on some managed memory.
    struct First {
        std::uint64_t ns = 0; ///< device time; 0: never read
        std::uint64_t bytes =
            0; ///< of all memory that it was the first on, where it lay and where it had no pages
    };
    const First& first_launch(std::uint64_t sample) const;

private:
    struct Live {
        std::uint64_t bytes = 0;
        AllocationTotals* site = nullptr;
        std::uint64_t on_host = 0; ///< bytes, when it was looked at last
        bool managed = false;      ///< by the program
        bool looked_at = false, launched_on = false;
        bool touched = false;           ///< by what is no launch, or the host had some of it
        bool in_parts = false;          ///< its bytes are in the `parts` of its site
        bool rest = false;              ///< a launch was first on some of it and left the rest
        bool settled = false;           ///< nothing more is first
        std::uint64_t launches = 0;     ///< since the last look after a wait
        std::uint64_t unknown_uses = 0; ///< of all, when it was made
        std::size_t first = 0; ///< from 1: of `first_launches` the one that no look has followed; 0: none
    };
    /// Launches on one allocation since the counters stood still after a wait.
    struct OpenParts {
        AllocationTotals* site = nullptr;
        std::uint64_t bytes = 0;
        PopulatedParts since; ///< the counters were read last
    };
    /// Only launches have used it, if anything has.
    bool is_fresh(const Live& live) const {
        return live.looked_at && !live.touched && live.unknown_uses == unknown_uses_;
    }
    void open_parts(const reader::Shape& shape);
    void settle(Live& live, std::uint64_t on_host);
    void reach(trace::AllocationId allocation, const LaunchGroup& group, std::uint64_t sample,
               ids::StackId stack);
    void reach_all(const trace::Launch& record, const reader::Shape& shape);
    Live* find_managed(trace::AllocationId allocation);
    void touch(trace::AllocationId allocation);

    facts::Samples& samples_;
    facts::CachedMap<std::map<ids::AllocationSite, AllocationTotals>> sites_;
    reader::FlatMap<Live, trace::AllocationId> live_;
    bool any_managed_ = false;                                ///< ever
    std::uint64_t unknown_uses_ = 0;                          ///< launches that may reach any memory
    std::unordered_map<std::uint64_t, First> first_launches_; ///< by sample; at most a few
    std::map<trace::AllocationId, OpenParts> open_;           ///< by allocation; at most a few
    trace::ManagedCounters counters_;                         ///< the last
    bool waited_ = false;                                     ///< since then
};

} // namespace umadvisor::tables
