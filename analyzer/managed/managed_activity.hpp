/// What happened to managed memory, and who made it happen: by allocating line.
#pragma once

#include "analyzer/facts/contexts.hpp"
#include "analyzer/facts/written_parameters.hpp"
#include "analyzer/ids/allocation_site.hpp"
#include "analyzer/managed/account.hpp"
#include "analyzer/managed/managed_ranges.hpp"
#include "analyzer/managed/move_ledger.hpp"
#include "analyzer/managed/shared_totals.hpp"
#include "analyzer/managed/sure_arrivals.hpp"
#include "analyzer/managed/thrashing_replay.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace umadvisor::managed {

/// Follows the events in the order of time; events of managed memory may come some milliseconds late. Memory:
/// the live managed allocations and the 4,096 freed last, allocating lines, and the blocks of BlockBudget.
class ManagedActivity {
public:
    /// `source` says which parameters the driver used; defaults where it was not asked.
    /// The dictionary must outlive it.
    ManagedActivity(double ns_per_tick, const trace::ManagedSource* source,
                    const reader::Dictionary& dictionary);

    /// Whether what is added from here on lies inside the ranges that are looked at.
    void look(bool inside) { inside_ = inside; }
    void add(const trace::Alloc& record);
    void add(const trace::Free& record);
    void launch(const reader::Shape& shape, std::uint64_t start, std::uint32_t thread) {
        if (!ranges_.empty())
            reach_all(shape, start, thread);
    }
    /// A kernel of a graph that was launched there may reach `allocation`.
    void reach(trace::AllocationId allocation, const facts::KernelSite& kernel,
               const trace::GraphLaunch& record, std::uint32_t thread);
    void add(const trace::Advise& record);
    void add(const trace::Residency& record);
    void add(const trace::ManagedEvent& record);
    void add(const trace::ManagedCounters& record);
    void add(const trace::ManagedDetail& record) { totals_.add(record); }
    /// Records whose meaning depends on the thread that made the call.
    void add(const trace::Prefetch& record, std::uint32_t thread);
    void add(const trace::Copy& record, std::uint32_t thread);
    void add(const trace::Set& record);
    void add(const trace::Sync& record, std::uint32_t thread);
    void add(const trace::Event& record, std::uint32_t thread);
    void add(const trace::Context& record, std::uint32_t thread) { contexts_.add(record, thread); }
    void add(const trace::Stream& record, std::uint32_t thread) {
        contexts_.add(record, thread);
        joins_ += record.action == trace::StreamAction::wait_event;
    }
    /// Call once, at the end.
    void finish();

    using Sites = std::map<ids::AllocationSite, ManagedSiteActivity>;
    const Sites& sites() const { return sites_; } ///< of all managed allocations, moved or not
    const ManagedTotals& totals() const { return totals_; }
    /// Events at addresses that no known managed allocation had then.
    const ManagedTally& unattributed() const { return unattributed_; }
    /// Pages by the driver's events, and by its rule, which needs recorded migrations.
    ThrashingPages thrashing_pages() const { return replay_.pages(); }
    const BlockBudget& block_budget() const { return ranges_.block_budget(); }
    /// Whether the trace has anything of what happened.
    bool any() const { return totals_.recorded().events != 0 || totals_.exact() != nullptr; }

    /// Bytes that umadvisor prefetched for nothing, by why and the stack of the call that it was done for.
    using WastedBytes = std::map<std::pair<WastedPrefetch::Why, ids::StackId>, std::uint64_t>;
    const WastedBytes& wasted_by_umadvisor() const { return wasted_; }

    Account account() const { return {totals_, ledger_}; }

private:
    ManagedActivity(double ns_per_tick, const residency::ThrashingParameters& rule,
                    const reader::Dictionary& dictionary);

    facts::WorkQueue queue_of(std::uint32_t thread, trace::StreamId stream) const;
    void reach_all(const reader::Shape& shape, std::uint64_t start, std::uint32_t thread);
    void reach(ManagedAllocation& allocation, const facts::KernelSite& kernel, const facts::WorkQueue& queue,
               std::uint64_t device, std::uint64_t start);
    void touch(trace::AllocationId allocation, std::uint64_t time);
    void pass_on(ManagedAllocation& allocation, const trace::Prefetch& record, std::uint32_t thread);
    void wait(const facts::Waited& waited);
    void forget_expired();
    void judge(ManagedAllocation& allocation);
    std::vector<facts::KernelSite> candidates(const ManagedAllocation* allocation, std::uint64_t time,
                                              std::uint64_t device) const;
    void attribute_migration(ManagedAllocation& allocation, const BlockActivity& block,
                             const trace::ManagedEvent& record);

    facts::Contexts contexts_;
    facts::WrittenParameters written_;
    Sites sites_;
    ManagedRanges ranges_;
    std::vector<ManagedAllocation*> launched_on_; ///< by launches that the program has not waited for
    std::vector<ManagedAllocation*> prefetched_;  ///< since the last wait; each once
    SharedTotals shared_;
    SureArrivals arrivals_;
    MoveLedger ledger_;
    facts::RunningLaunches anywhere_; ///< may reach any memory
    facts::RunningLaunches all_;      ///< that reach any managed memory
    facts::RecordedEvents events_;
    ManagedTotals totals_;
    ManagedTally unattributed_;
    WastedBytes wasted_;
    Terms terms_;
    ThrashingReplay replay_;
    bool inside_ = true;
    std::uint64_t joins_ = 0;       ///< how often a stream was made to wait for another
    std::uint64_t totals_read_ = 0; ///< when the driver's totals were read last, ticks
};

} // namespace umadvisor::managed
