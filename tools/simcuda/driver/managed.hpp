#pragma once

#include "tools/simcuda/driver/driver.hpp"

/// Managed memory: the residency model kept true to the host's page table. The caller holds the mutex.
namespace simcuda {

/// The model's observer, which takes and gives host mappings as pages move.
residency::Observer* model_observer();

/// Allocates managed memory that is resident nowhere.
CUresult allocate_managed(CUdeviceptr* address, std::uint64_t bytes, unsigned flags);
/// Undoes the mapping and the residency; the caller forgets the allocation.
void release_managed(const Allocation& allocation);

} // namespace simcuda
