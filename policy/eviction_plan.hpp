/// What to bring to the host so that a launch has room on the device, decided from plain numbers: no CUDA here.
#pragma once

#include "policy/launch_sequence.hpp"
#include "policy/prefetch_plan.hpp"

#include <cstdint>
#include <span>

namespace umadvisor::policy {

/// A managed allocation of which some blocks are on the device.
struct Resident {
    ResidencyView view;
    std::uint32_t next_use; ///< launches from now; LaunchSequence::unknown: none known
    std::uint64_t last_use; ///< number of a launch
};

/// Fills in `next_use`. Reorders `residents` by address.
void foresee(std::span<Resident> residents, const LaunchSequence& sequence) noexcept;

/// At least `bytes` of blocks on the device, as far as there are so many: those first that are used last from
/// now on (L. A. Belady, "A study of replacement algorithms for virtual-storage computer", 1966), or, where the
/// future is not known, those that were used least recently. Reorders `residents`.
void plan_eviction(std::span<Resident> residents, std::uint64_t bytes, PrefetchPlan& plan) noexcept;

} // namespace umadvisor::policy
