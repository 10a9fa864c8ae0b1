#include "analyzer/managed/shared_totals.hpp"

#include <algorithm>
#include <utility>

namespace umadvisor::managed {

void SharedTotals::use(ManagedAllocation& allocation) {
    if (!std::exchange(allocation.recent, true))
        used_.push_back(&allocation);
}

void SharedTotals::forget(const ManagedAllocation& allocation) {
    if (allocation.recent)
        std::erase(used_, &allocation);
}

/// What the host did not ask for was evicted, from the largest allocation. Where moves are recorded one by one
/// an eviction is recorded, too, and CUPTI's totals may have a move without the fault that asked for it.
void SharedTotals::share(const trace::ManagedCounters& before, const trace::ManagedCounters& after,
                         bool moves_known, std::span<ManagedAllocation* const> running) {
    const std::uint64_t to_host = after.bytes_to_host - std::min(after.bytes_to_host, before.bytes_to_host);
    const bool asked_for = prefetched_to_host_ || after.host_faults != before.host_faults || moves_known;
    const auto largest = std::ranges::max_element(used_, {}, &ManagedAllocation::bytes);
    UseStep step{.time = after.start,
                 .kind = UseKind::totals,
                 .host_bytes = to_host,
                 .since = std::exchange(told_, after.start),
                 .device_faults = after.device_faults - std::min(after.device_faults, before.device_faults)};
    if (last_.size() == most_kept)
        last_.pop_front();
    last_.push_back(step);
    for (ManagedAllocation* const allocation : used_) {
        allocation->recent = false;
        step.evicted = asked_for || allocation != *largest ? 0 : to_host;
        allocation->stays.add(step);
    }
    used_.clear();
    prefetched_to_host_ = false;
    for (ManagedAllocation* const allocation : running)
        use(*allocation);
}

void SharedTotals::share_late(ManagedAllocation& allocation, std::uint64_t time) {
    const auto totals = std::ranges::lower_bound(last_, time, {}, &UseStep::time);
    if (totals == last_.end() || totals->since > time || totals->time == allocation.late_totals)
        return;
    allocation.late_totals = totals->time;
    UseStep step = *totals;
    step.device_faults = 0; // shared with it in their time, if they were its own
    allocation.stays.add(step);
}

} // namespace umadvisor::managed
