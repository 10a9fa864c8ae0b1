/// Driver calls that actions make, each recorded with origin umadvisor. They use the ABI that the driver has:
/// with a device ordinal (8.0), or with a location (12.2), the only one in headers of later toolkits.
#pragma once

#include "interposer/attach/entries.hpp"
#include "interposer/observe/allocations.hpp"
#include "policy/prefetch_plan.hpp"
#include "trace/values.hpp"

namespace umadvisor::act {

/// cuMemPrefetchAsync to `device` (CU_DEVICE_CPU: the host) on `stream` (an explicit handle). Not for capturing
/// streams. `stack`: id of the call stack of the program's call that it is made for.
CUresult prefetch_range(const policy::PrefetchRange& range, CUdevice device, CUstream stream,
                        trace::Reason reason, std::uint64_t stack) noexcept;

/// cuMemAdvise; CU_DEVICE_CPU: of the host.
CUresult advise(const policy::PrefetchRange& range, CUmem_advise advice, CUdevice device,
                trace::Reason reason) noexcept;

/// The same for all of a rewritten allocation.
CUresult advise(const observe::Allocation& allocation, CUmem_advise advice, CUdevice device) noexcept;

} // namespace umadvisor::act
