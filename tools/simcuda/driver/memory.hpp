#pragma once

#include "tools/simcuda/driver/driver.hpp"

/// Device memory for those who need it beside the entry points. The caller holds the mutex.
namespace simcuda {

CUresult allocate_device_memory(CUdeviceptr* address, std::uint64_t bytes);
void release_device_memory(CUdeviceptr address);
/// What the process holds of a device, with what its pools keep.
std::uint64_t device_use(int device);
/// Has other processes see it (card.hpp).
void publish_device_use(int device);

} // namespace simcuda
