#pragma once

#include "tools/simcuda/driver/driver.hpp"

/// A memory pool of stream-ordered allocation. The addresses of memory that is freed are free at once; that its
/// pool has still mapped it, up to the next synchronisation or as far as the release threshold goes, shows in
/// what the next allocation takes.
struct CUmemPoolHandle_st {
    simcuda::MemoryClass memory = simcuda::device_memory;
    CUmemLocation location{};
    bool imported = false; ///< of another process: its pointers can be imported, nothing allocated
    cuuint64_t release_threshold = 0;
    cuuint64_t used = 0, used_high = 0;
    cuuint64_t mapped = 0; ///< of what is free
    int reuse[3] = {1, 1, 1};
};

/// The caller holds the mutex.
namespace simcuda {

/// From the pool that the current context's device allocates from.
CUresult allocate_from_current_pool(CUdeviceptr* address, std::uint64_t bytes);
/// Memory of a pool on a device.
CUresult allocate_pooled(CUmemPoolHandle_st& pool, CUdeviceptr* address, std::uint64_t bytes);
/// Before an allocation is released: its pool, if it has one, uses less.
void leave_pool(const Allocation& allocation);
/// At a synchronisation of a stream, event or context: pools give back what they hold beyond their threshold.
void trim_pools();
/// A pool gives back what it has beyond `reserved` bytes and does not use.
void trim_pool(CUmemPoolHandle_st& pool, std::uint64_t reserved);
/// What pools of the device have mapped and do not use.
std::uint64_t held_by_pools(int device);
/// A reset destroys the pools that the program has made on the device, as it does all resources there.
void forget_pools(int device);
/// What a context leaves behind; `pools`: with it goes what came from pools of its device.
void forget_memory(const CUctx_st& context, bool pools);
/// Ends what shared.cpp opened.
void close_shared(std::uint64_t address);

} // namespace simcuda
