/// What the driver reported of managed memory, and who made it happen.
#include "analyzer/managed/managed_activity.hpp"

#include <algorithm>

namespace umadvisor::managed {

std::vector<facts::KernelSite> ManagedActivity::candidates(const ManagedAllocation* allocation,
                                                           std::uint64_t time, std::uint64_t device) const {
    std::vector<facts::KernelSite> sites;
    if (allocation != nullptr) {
        allocation->launches.running_at(time, device, sites);
        anywhere_.running_at(time, device, sites);
    } else {
        all_.running_at(time, device, sites);
    }
    return sites;
}

void ManagedActivity::attribute_migration(ManagedAllocation& allocation, const BlockActivity& block,
                                          const trace::ManagedEvent& record) {
    ManagedSiteActivity& site = *allocation.site;
    const MoveDirection direction = direction_of(record);
    const auto cause = static_cast<trace::MigrationCause>(record.cause);
    const auto bytes = static_cast<double>(record.bytes);
    if (direction == MoveDirection::to_host || cause == trace::MigrationCause::user)
        site.moves.add(bytes, inside_);
    if (cause == trace::MigrationCause::user) {
        const PrefetchCall* const call =
            allocation.find_prefetch(record.address, record.start, direction == MoveDirection::to_host);
        site.prefetched(call == nullptr ? PrefetchSite{} : PrefetchSite{call->site, call->by_umadvisor},
                        direction, record.bytes);
    } else if (direction != MoveDirection::to_host) {
        if (direction == MoveDirection::between_devices && record.from != record.to)
            site.devices.moved(facts::pair_of(record.from - 1, record.to - 1), record.bytes);
        const std::vector<facts::KernelSite> movers = candidates(&allocation, record.start, record.to - 1);
        // What was launched inside belongs there also when it ran later.
        site.moves.add(bytes, movers.empty() ? inside_
                                             : std::ranges::any_of(movers, [](const facts::KernelSite& kernel) {
                                                   return !kernel.stack.outside();
                                               }));
        site.kernels.add(movers, bytes, 0);
    } else if (cause != trace::MigrationCause::eviction) {
        site.touched_by_host(block.host_code, 0, record.bytes);
    } else {
        site.evictors.add(candidates(nullptr, record.start, record.from - 1), bytes, 0);
        reader::add_saturated(allocation.marks.evicted_bytes, record.bytes);
    }
}

void ManagedActivity::add(const trace::ManagedEvent& record) {
    totals_.add(record);
    ManagedAllocation* const allocation = ranges_.find(record.address, record.start);
    totals_.use();
    if (allocation == nullptr) {
        ledger_.use_unknown();
        return unattributed_.add(record);
    }
    ManagedSiteActivity& site = *allocation->site;
    ManagedTally of_record;
    of_record.add(record);
    site.recorded.add(of_record);
    ledger_.event(allocation->number, sum_of(of_record.host_faults), moved_of(of_record), record.start);
    reader::add_saturated(allocation->marks.replayed_pages, replay_.add(record));
    const std::uint64_t first = record.address - allocation->base();
    const std::uint64_t length = record.bytes == 0 ? 0 : record.bytes - 1;
    const BlockActivity& block =
        allocation->blocks.add(record, first, first + std::min(length, allocation->last - record.address));
    switch (record.kind) {
    case trace::ManagedEventKind::host_fault:
        allocation->on_device = {};
        site.touched_by_host(record.code, faults_of(record), 0);
        shared_.use(*allocation);
        shared_.share_late(*allocation, record.start);
        arrivals_.host_touch(*allocation, record.start);
        allocation->stays.add({.time = record.start,
                               .kind = UseKind::host_fault,
                               .offset = record.address - allocation->address,
                               .bytes = record.bytes,
                               .count = faults_of(record),
                               .place = ids::StackId(record.code),
                               .write = record.cause != static_cast<std::uint64_t>(trace::FaultAccess::read)});
        break;
    case trace::ManagedEventKind::thrashing:
        reader::add_saturated(allocation->marks.thrashing_pages, record.bytes / page);
        break;
    case trace::ManagedEventKind::remote_map:
        reader::add_saturated(allocation->marks.remote_pages, record.bytes / page);
        break;
    case trace::ManagedEventKind::device_fault:
        site.kernels.add(candidates(allocation, record.start, record.to - 1), 0,
                         static_cast<double>(faults_of(record)));
        break;
    case trace::ManagedEventKind::migration:
        attribute_migration(*allocation, block, record);
        break;
    default:
        break;
    }
}

} // namespace umadvisor::managed
