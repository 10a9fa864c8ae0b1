#include "residency/driver_prefetch.hpp"

namespace umadvisor::residency {

PageMask expand_by_driver_prefetch(const PageMask& resident_at_target, const PageMask& faulting,
                                   const PageMask& valid, unsigned threshold_percent) {
    if ((valid & ~faulting).none()) {
        return valid; // no page is left to migrate along
    }
    const PageMask occupied = (resident_at_target | faulting) & valid;
    PageMask pulled = faulting;
    for (unsigned granule = 0; granule < pages_per_block; granule += pages_per_granule) {
        if ((faulting & page_range(granule, granule + pages_per_granule)).none()) {
            continue;
        }
        PageMask widest;
        for (unsigned size = pages_per_granule; size <= pages_per_block; size *= 2) {
            const unsigned first = granule / size * size;
            const PageMask subtree = page_range(first, first + size) & valid;
            if ((occupied & subtree).count() * 100 > subtree.count() * threshold_percent) {
                widest = subtree;
            }
        }
        pulled |= widest;
    }
    return pulled & valid;
}

} // namespace umadvisor::residency
