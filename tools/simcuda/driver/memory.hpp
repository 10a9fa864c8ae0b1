#pragma once

#include "tools/simcuda/driver/driver.hpp"

/// Device memory for those who need it beside the entry points. The caller holds the mutex.
namespace simcuda {

CUresult allocate_device_memory(CUdeviceptr* address, std::uint64_t bytes);
void release_device_memory(CUdeviceptr address);

} // namespace simcuda
