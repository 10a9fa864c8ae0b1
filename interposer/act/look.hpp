/// Where managed memory is, for those who act on it: one look for all of them. And what they tell each other.
#pragma once

#include "interposer/act/action.hpp"
#include "interposer/observe/residency_sampler.hpp"

namespace umadvisor::act {

extern constinit Action looking, relieving, prefetching;

/// What a launch is about to reach is looked at where that tells anything.
void look_before_launch(const observe::Touched& touched) noexcept;

/// Where a look tells prefetching anything, and what it tells (observe::LookVisit).
observe::LookRange prefetching_looks(const observe::Allocation& allocation,
                                     const observe::LookOccasion& occasion) noexcept;
void prefetching_sees(const observe::Allocation& allocation, observe::LookRange range, bool host) noexcept;
/// Whether the host has what it was brought after the last launch: the device had it then.
bool was_brought(const observe::Allocation& allocation) noexcept;

/// The same of relief, which goes by what has come back.
observe::LookRange relief_looks(const observe::Allocation& allocation,
                                const observe::LookOccasion& occasion) noexcept;
void relief_sees(const observe::Allocation& allocation, std::uint64_t content) noexcept;

/// [address, address + bytes) of an allocation is not to be brought to the device, or is again; 0 bytes: all of
/// it.
void leave_to_faults(std::uint64_t address, std::uint64_t bytes, bool alone) noexcept;

} // namespace umadvisor::act
