/// Managed allocations by address and time. Lately freed ones are kept, since the driver reports events late.
#pragma once

#include "analyzer/facts/running_launches.hpp"
#include "analyzer/ids/allocation_site.hpp"
#include "analyzer/managed/block_history.hpp"
#include "analyzer/managed/device_turns.hpp"
#include "analyzer/managed/verdict.hpp"
#include "trace/event_records.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace umadvisor::ids {
struct AllocationSite;
}

namespace umadvisor::managed {

struct ManagedSiteActivity;

/// A call that moves a part of an allocation, or will.
struct PrefetchCall {
    std::uint64_t address = 0, last = 0; ///< first and last byte
    std::uint64_t start = 0;
    ids::CallSite site;
    bool to_host = false, by_umadvisor = false;
    std::uint64_t device = 0; ///< where not to the host
};

/// What the program's last prefetch brought to a device, while nothing else took it from there.
struct Prefetched {
    std::uint64_t device = 0, first = 0, end = 0; ///< first and end: addresses; equal: nothing
    std::optional<std::uint64_t> torn_from;       ///< the device that had it, while kernels there may use it
    std::uint64_t had = 0; ///< devices, a bit each, that prefetches have brought it to since the host used it
};

/// How much of an allocation the host had when it was looked at last.
struct OnHost {
    std::uint64_t bytes = UINT64_MAX; ///< UINT64_MAX: not known
    std::uint64_t time = 0, epoch = 0;
};

struct ManagedAllocation {
    ManagedAllocation(const trace::Alloc& record, BlockBudget& block_budget, StepBudget& step_budget);

    trace::AllocationId id;
    std::uint64_t address, last; ///< first and last byte
    std::uint64_t from;          ///< ticks
    std::uint64_t until = UINT64_MAX;
    ManagedSiteActivity* site = nullptr;
    const ids::AllocationSite* made_at = nullptr;
    bool launched_on = false;        ///< by launches that the program has not waited for
    bool prefetched = false;         ///< since the last wait
    bool recent = false;             ///< used since the driver's totals were last recorded
    bool arriving = false;           ///< reached since all launches were waited for; SureArrivals
    std::uint64_t most_arriving = 0; ///< bytes that the host had when that began; SureArrivals
    OnHost on_host;                  ///< SureArrivals
    std::uint64_t number = 0;        ///< MoveLedger
    std::uint64_t late_totals = 0;   ///< ticks: the last that were shared with it for a fault reported late
    facts::RunningLaunches launches;
    std::optional<std::uint64_t> device; ///< of the last launch that reaches it
    std::uint64_t joins = 0;             ///< ManagedActivity::joins_ at that launch
    std::uint64_t touched = 0;           ///< ticks: the host's last use of it
    Prefetched on_device;
    std::map<facts::DevicePair, std::pair<PassedOn, PassedOn>>
        passed_on;                       ///< what came again, and what was torn
    std::deque<PrefetchCall> prefetches; ///< the last few
    BlockHistory blocks;
    Stays stays;
    Marks marks;

    std::uint64_t bytes() const { return last - address + 1; }
    /// Where its first block begins: blocks are aligned.
    std::uint64_t base() const { return address & ~std::uint64_t{0x1f'ffff}; }
    bool holds(std::uint64_t byte, std::uint64_t time) const {
        return address <= byte && byte <= last && from <= time && time <= until;
    }
    void add(const PrefetchCall& call);
    /// The last such call before `time` that moves `byte` that way; nullptr: none.
    const PrefetchCall* find_prefetch(std::uint64_t byte, std::uint64_t time, bool to_host) const;
    /// Returns whether the part that `record` prefetches is on another device than its target. A part no
    /// prefetch brought is where the last launch ran, unless prefetches bring parts of the allocation.
    bool on_another(const trace::Prefetch& record) const;
};

/// Memory: the live ones and `most_freed`.
class ManagedRanges {
public:
    static constexpr std::size_t most_freed = 4096;

    /// What lived at its addresses ends there: its Free record is lost.
    ManagedAllocation& add(const trace::Alloc& record);
    /// nullptr where it is not known as managed, else the one that is freed now.
    ManagedAllocation* remove(const trace::Free& record);
    /// The one that `address` was in at `time`; nullptr: none.
    ManagedAllocation* find(std::uint64_t address, std::uint64_t time);
    /// The nearest live allocations that share a granule with it, a few each way.
    std::vector<ManagedAllocation*> beside(const ManagedAllocation& allocation) const;
    /// By the id of a live allocation.
    ManagedAllocation* find_live(trace::AllocationId id);
    bool empty() const { return live_.empty() && freed_.empty(); }
    const BlockBudget& block_budget() const { return budget_; }

    /// A freed allocation beyond the bound, the oldest first; nullptr: none. Ask after each add() and remove().
    std::unique_ptr<ManagedAllocation> next_expired();
    /// All that are kept, at the end.
    template <class Visit>
    void for_each(const Visit& visit) {
        for (const auto& allocation : freed_)
            visit(*allocation);
        for (const auto& [address, allocation] : live_)
            visit(*allocation);
    }

private:
    using Live = std::map<std::uint64_t, std::unique_ptr<ManagedAllocation>>; ///< by address; do not overlap
    Live::iterator retire(Live::iterator at, std::uint64_t end);

    BlockBudget budget_;
    StepBudget steps_;
    Live live_;
    std::unordered_map<trace::AllocationId, ManagedAllocation*> ids_; ///< of live ones
    std::deque<std::unique_ptr<ManagedAllocation>> freed_;            ///< the last freed at the back
};

} // namespace umadvisor::managed
