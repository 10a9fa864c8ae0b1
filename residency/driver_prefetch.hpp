#pragma once

#include "residency/geometry.hpp"

namespace umadvisor::residency {

/// Pages that the driver migrates with a fault inside one 2 MiB block, the faulting pages included.
///
/// The driver sees the block as a binary tree over 64 KiB granules; around each faulting granule it takes the
/// largest subtree of which more than `threshold_percent` (uvm_perf_prefetch_threshold, 51) is resident at the
/// target or faulting. `valid` are the pages of the block that belong to the allocation.
PageMask expand_by_driver_prefetch(const PageMask& resident_at_target, const PageMask& faulting,
                                   const PageMask& valid, unsigned threshold_percent);

} // namespace umadvisor::residency
