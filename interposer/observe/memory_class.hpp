/// What an end of a copy is to CUDA.
#pragma once

#include "trace/values.hpp"

#include <cstdint>

namespace umadvisor::observe {

struct End {
    trace::Memory memory;
    std::uint64_t allocation; ///< id; 0: none of ours
    std::uint64_t host_range; ///< id of the HostRange record of pageable memory; 0: not known
    std::uint32_t device = 0; ///< ordinal of the device that `allocation` was made for
};

/// Decided from our own index first; else the driver is asked, once for each range until an allocation or
/// registration comes or goes. Memory the driver does not know (CUDA_ERROR_INVALID_VALUE,
/// cuPointerGetAttribute) is pageable; memory it cannot be asked about is unknown. `bytes` is the length of the
/// copy. Thread-safe; takes no lock for a known range.
End classify(std::uint64_t address, std::uint64_t bytes) noexcept;

/// An array's own handle, or that of a level of a mipmapped one.
End classify_array(std::uint64_t handle) noexcept;

} // namespace umadvisor::observe
