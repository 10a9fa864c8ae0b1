#include "analyzer/managed/thrashing_replay.hpp"

#include "analyzer/reader/saturated.hpp"

#include <algorithm>

namespace umadvisor::managed {
namespace {

void add(ThrashingPages& sum, const ThrashingPages& pages) {
    sum.told += pages.told;
    sum.found += pages.found;
    sum.agreed += pages.agreed;
}

/// What the driver's detector counts: moves that a fault caused, and those that came along
/// (uvm_perf_thrashing.c, thrashing_event_cb).
bool by_fault(const trace::ManagedEvent& event) {
    const auto cause = static_cast<trace::MigrationCause>(event.cause);
    return cause == trace::MigrationCause::coherence || cause == trace::MigrationCause::prefetch ||
           cause == trace::MigrationCause::access_counters;
}

} // namespace

ThrashingPages ThrashingReplay::Followed::pages() const {
    return {told.count(), found.count(), (told & found).count()};
}

ThrashingReplay::Followed& ThrashingReplay::follow(std::uint64_t block) {
    if (const auto known = blocks_.find(block); known != blocks_.end())
        return known->second;
    if (blocks_.size() == most_blocks) {
        const auto oldest = blocks_.find(order_.front());
        managed::add(left_, oldest->second.pages());
        blocks_.erase(oldest);
        order_.pop_front();
    }
    order_.push_back(block);
    return blocks_[block];
}

std::uint64_t ThrashingReplay::add(const trace::ManagedEvent& event) {
    const bool migration = event.kind == trace::ManagedEventKind::migration;
    if ((!migration && event.kind != trace::ManagedEventKind::thrashing) || event.bytes == 0 ||
        event.to >= sizeof(residency::ProcessorSet) * 8)
        return 0;
    const auto now = reader::saturated(static_cast<double>(event.start) * ns_per_tick_);
    const std::uint64_t last = event.address + std::min(event.bytes - 1, UINT64_MAX - event.address);
    const std::uint64_t last_block = residency::block_number(last);
    std::uint64_t newly = 0;
    for (std::uint64_t block = residency::block_number(event.address), count = 0;
         block <= last_block && count < most_blocks; ++block, ++count) {
        const bool begins = block == residency::block_number(event.address), ends = block == last_block;
        const residency::PageMask pages =
            residency::page_range(begins ? residency::page_in_block(event.address) : 0,
                                  ends ? residency::page_in_block(last) + 1 : residency::pages_per_block);
        Followed& followed = follow(block);
        if (!migration) {
            followed.told |= pages;
        } else if (static_cast<trace::MigrationCause>(event.cause) == trace::MigrationCause::user) {
            followed.thrashing.forget(pages);
        } else if (by_fault(event)) {
            const residency::PageMask found =
                followed.thrashing.record(parameters_, static_cast<residency::Processor>(event.to), pages, now);
            newly += (found & ~followed.found).count();
            followed.found |= found;
        }
    }
    return newly;
}

ThrashingPages ThrashingReplay::pages() const {
    ThrashingPages sum = left_;
    for (const auto& [block, followed] : blocks_)
        managed::add(sum, followed.pages());
    return sum;
}

} // namespace umadvisor::managed
