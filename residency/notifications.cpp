// Notifies the observer, in the runs and units of the driver's own events.
#include "residency/address_space.hpp"

namespace umadvisor::residency {

namespace {

std::uint64_t first_page(const Block& block, const PageMask& pages) {
    return block.base + pages._Find_first() * page_bytes;
}

ProcessorSet holders(const Block& block, unsigned page) {
    ProcessorSet set = 0;
    for (Processor who = 0; who < max_processors; ++who) {
        set |= block.resident[who][page] ? set_of(who) : 0;
    }
    return set;
}

} // namespace

void AddressSpace::count_fault(Processor who, const Block& block, const PageMask& pages, Access access,
                               bool mapped, FaultGroup& group, Nanoseconds now) {
    if (who == host_processor) {
        ++counters_.host_faults;
        if (observer_) {
            observer_->host_fault({first_page(block, pages), access, now});
        }
        return;
    }
    if (group == 0) {
        group = ++counters_.device_fault_groups;
    }
    for (unsigned granule = 0; observer_ && granule < pages_per_block; granule += pages_per_granule) {
        if ((pages & page_range(granule, granule + pages_per_granule)).any()) {
            observer_->device_fault({block.base + granule * page_bytes, who, access, mapped, group, now});
        }
    }
}

void AddressSpace::notify_throttling(Processor who, const Block& block, const PageMask& pages,
                                     Nanoseconds begin, Nanoseconds end) const {
    if (observer_) {
        observer_->throttled({first_page(block, pages), who, begin, end});
    }
}

void AddressSpace::notify_thrashing(const Block& block, const PageMask& found, Nanoseconds now) const {
    if (observer_) {
        visit_runs(block.base, found, [&](std::uint64_t at, std::uint64_t size) {
            observer_->thrashing_found({at, size, block.thrashing.processors(), now});
        });
    }
}

void AddressSpace::notify_remote_mapping(Processor who, const Block& block, const PageMask& pages,
                                         RemoteMapping::Cause cause, Nanoseconds now) const {
    if (observer_) {
        visit_runs(block.base, pages, [&](std::uint64_t at, std::uint64_t size) {
            observer_->remote_mapped({at, size, who, host_processor, cause, now});
        });
    }
}

void AddressSpace::notify_duplicates(const Block& block, const PageMask& pages, Nanoseconds now) const {
    if (!observer_) {
        return;
    }
    // Adjacent pages may have different holders.
    for (unsigned page = 0; page < pages_per_block;) {
        const unsigned first = page++;
        if (pages[first]) {
            const ProcessorSet set = holders(block, first);
            while (page < pages_per_block && pages[page] && holders(block, page) == set) {
                ++page;
            }
            observer_->read_duplicated(
                {block.base + first * page_bytes, (page - first) * page_bytes, set, now});
        }
    }
}

void AddressSpace::notify_duplicates_ended(const Block& block, const PageMask& pages, Processor holder,
                                           Nanoseconds now) const {
    if (observer_) {
        visit_runs(block.base, pages, [&](std::uint64_t at, std::uint64_t size) {
            observer_->read_duplicate_ended({at, size, holder, now});
        });
    }
}

} // namespace umadvisor::residency
