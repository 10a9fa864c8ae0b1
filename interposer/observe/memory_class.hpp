/// The kind of memory at an end of a copy.
#pragma once

#include "trace/ids.hpp"
#include "trace/values.hpp"

#include <cstdint>

namespace umadvisor::observe {

struct End {
    trace::Memory memory;
    trace::AllocationId allocation; ///< not known: none of ours
    std::uint64_t host_range;       ///< id of the HostRange record of pageable memory; 0: not known
    std::uint32_t device = 0;       ///< ordinal of the device that `allocation` was made for
    bool of_file = false;           ///< pageable memory that a file is mapped to
};

/// Looks into our own index first and else asks the driver, once for each range until an allocation or
/// registration is made or ends. Memory that the driver does not know (CUDA_ERROR_INVALID_VALUE,
/// cuPointerGetAttribute) is pageable; after another error it is unknown. `bytes` is the length of the copy.
/// Thread-safe; does not lock for a known range.
End classify(std::uint64_t address, std::uint64_t bytes) noexcept;

/// An array's own handle, or that of a level of a mipmapped one.
End classify_array(std::uint64_t handle) noexcept;

} // namespace umadvisor::observe
