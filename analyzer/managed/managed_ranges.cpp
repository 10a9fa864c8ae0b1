#include "analyzer/managed/managed_ranges.hpp"

#include <algorithm>

namespace umadvisor::managed {
namespace {

constexpr std::size_t most_prefetch_calls = 32, most_beside = 4;

/// Last byte of a range that is not empty; the last address where the range would wrap.
std::uint64_t last_byte(std::uint64_t address, std::uint64_t bytes) {
    return address + std::min(bytes - 1, UINT64_MAX - address);
}

} // namespace

ManagedAllocation::ManagedAllocation(const trace::Alloc& record, BlockBudget& block_budget,
                                     StepBudget& step_budget)
    : id(record.allocation),
      address(record.address),
      last(last_byte(record.address, std::max<std::uint64_t>(record.bytes, 1))),
      from(record.start),
      blocks(block_budget),
      stays(bytes(), step_budget) {
    marks.address = address;
}

void ManagedAllocation::add(const PrefetchCall& call) {
    if (prefetches.size() == most_prefetch_calls)
        prefetches.pop_front();
    prefetches.push_back(call);
}

const PrefetchCall* ManagedAllocation::find_prefetch(std::uint64_t byte, std::uint64_t time,
                                                     bool to_host) const {
    for (auto call = prefetches.rbegin(); call != prefetches.rend(); ++call)
        if (call->to_host == to_host && call->start <= time && call->address <= byte && byte <= call->last)
            return &*call;
    return nullptr;
}

bool ManagedAllocation::on_another(const trace::Prefetch& record) const {
    if (!device || *device == record.location_id)
        return false;
    for (auto call = prefetches.rbegin(); call != prefetches.rend(); ++call)
        if (call->address <= record.address && record.address <= call->last)
            return !call->to_host && call->start >= touched && call->device != record.location_id;
    return std::ranges::all_of(prefetches, [](const PrefetchCall& call) { return call.to_host; });
}

ManagedRanges::Live::iterator ManagedRanges::retire(Live::iterator at, std::uint64_t end) {
    ManagedAllocation& allocation = *at->second;
    allocation.until = end;
    if (const auto id = ids_.find(allocation.id); id != ids_.end() && id->second == &allocation)
        ids_.erase(id);
    freed_.push_back(std::move(at->second));
    return live_.erase(at);
}

ManagedAllocation& ManagedRanges::add(const trace::Alloc& record) {
    auto fresh = std::make_unique<ManagedAllocation>(record, budget_, steps_);
    auto at = live_.upper_bound(fresh->address);
    if (at != live_.begin() && std::prev(at)->second->last >= fresh->address)
        --at;
    while (at != live_.end() && at->first <= fresh->last)
        at = retire(at, record.start);
    ids_[fresh->id] = fresh.get();
    return *(live_[fresh->address] = std::move(fresh));
}

std::vector<ManagedAllocation*> ManagedRanges::beside(const ManagedAllocation& allocation) const {
    std::vector<ManagedAllocation*> found;
    const auto here = live_.find(allocation.address);
    auto before = here;
    for (std::size_t count = 0; count != most_beside && before != live_.begin(); ++count) {
        --before;
        if (before->second->last / granule != allocation.address / granule)
            break;
        found.push_back(before->second.get());
    }
    auto after = std::next(here);
    for (std::size_t count = 0; count != most_beside && after != live_.end(); ++count, ++after) {
        if (after->first / granule != allocation.last / granule)
            break;
        found.push_back(after->second.get());
    }
    return found;
}

ManagedAllocation* ManagedRanges::remove(const trace::Free& record) {
    ManagedAllocation* const allocation = find_live(record.allocation);
    if (allocation != nullptr)
        retire(live_.find(allocation->address), record.start);
    return allocation;
}

ManagedAllocation* ManagedRanges::find(std::uint64_t address, std::uint64_t time) {
    if (const auto after = live_.upper_bound(address);
        after != live_.begin() && std::prev(after)->second->holds(address, time))
        return std::prev(after)->second.get();
    // They are freed in the order of time: those before the first that was gone by then were gone, too.
    for (auto allocation = freed_.rbegin(); allocation != freed_.rend() && (*allocation)->until >= time;
         ++allocation)
        if ((*allocation)->holds(address, time))
            return allocation->get();
    return nullptr;
}

ManagedAllocation* ManagedRanges::find_live(trace::AllocationId id) {
    const auto found = ids_.find(id);
    return found == ids_.end() ? nullptr : found->second;
}

std::unique_ptr<ManagedAllocation> ManagedRanges::next_expired() {
    if (freed_.size() <= most_freed)
        return nullptr;
    std::unique_ptr<ManagedAllocation> oldest = std::move(freed_.front());
    freed_.pop_front();
    return oldest;
}

} // namespace umadvisor::managed
