// Device allocations.
#include "tools/simcuda/driver/memory.hpp"
#include "tools/simcuda/driver/capture.hpp"
#include "tools/simcuda/driver/graph.hpp"
#include "tools/simcuda/driver/managed.hpp"
#include "tools/simcuda/driver/pool.hpp"
#include "tools/simcuda/driver/stream.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <vector>

using namespace simcuda;

namespace {

constexpr std::uint64_t small_alignment = 512;
constexpr std::uint64_t big_allocation = 1 << 20;
constexpr std::uint64_t big_alignment = 2 << 20;

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

// Managed pages share the device with plain allocations, which are never evicted.
void limit_managed_memory(int device) {
    Driver& state = driver();
    state.memory->set_capacity(residency::device_processor(static_cast<unsigned>(device)),
                               state.config.capacity -
                                   state.devices[static_cast<std::size_t>(device)].allocated);
}

/// Pools give back what is beyond their thresholds before memory is refused. `pool`: that asks; else null.
bool has_room(int ordinal, std::uint64_t bytes, const CUmemPoolHandle_st* pool) {
    const auto lacks = [&] {
        const std::uint64_t mapped = pool ? std::min(pool->mapped, bytes) : 0;
        return driver().devices[static_cast<std::size_t>(ordinal)].allocated + bytes + held_by_pools(ordinal) -
                   mapped >
               driver().config.capacity;
    };
    if (lacks()) {
        trim_pools();
    }
    return !lacks();
}

CUresult allocate_on(int ordinal, CUdeviceptr* address, std::uint64_t bytes, const CUmemPoolHandle_st* pool) {
    if (!address || bytes == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    Driver& state = driver();
    Device& device = state.devices[static_cast<std::size_t>(ordinal)];
    const std::uint64_t taken = round_up(bytes, small_alignment);
    if (!has_room(ordinal, taken, pool)) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    const std::uint64_t at =
        state.device_addresses->take(taken, bytes >= big_allocation ? big_alignment : small_alignment);
    if (at == 0) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    device.allocated += taken;
    limit_managed_memory(ordinal);
    state.allocations.emplace(
        at, Allocation{at, bytes, device_memory, ordinal, 0, pool != nullptr, ++state.ids, current_context()});
    *address = at;
    return CUDA_SUCCESS;
}

CUresult allocate(CUdeviceptr* address, std::uint64_t bytes) {
    return allocate_on(current_context()->device, address, bytes, nullptr);
}

CUresult release(CUdeviceptr address) {
    Driver& state = driver();
    if (graphs().memory.contains(address)) {
        return free_graph_memory(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    const auto found = state.allocations.find(address);
    if (found == state.allocations.end()) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Allocation allocation = found->second;
    if (allocation.made == Made::mapped || allocation.made == Made::opened) {
        return CUDA_ERROR_INVALID_VALUE; // cuMemUnmap and cuIpcCloseMemHandle end these
    }
    leave_pool(allocation);
    if (allocation.made == Made::external) {
        state.arena.unmap_file(address, allocation.bytes);
        state.device_addresses->give(address, allocation.bytes);
    } else if (allocation.memory == managed) {
        release_managed(allocation);
    } else if (allocation.memory == device_memory || allocation.memory == array_memory) {
        const std::uint64_t taken = round_up(allocation.bytes, small_alignment);
        state.devices[static_cast<std::size_t>(allocation.device)].allocated -= taken;
        limit_managed_memory(allocation.device);
        state.arena.discard(address, taken);
        state.device_addresses->give(address, taken);
    } else if (allocation.pool) {
        munmap(reinterpret_cast<void*>(address), allocation.bytes);
    } else {
        return CUDA_ERROR_INVALID_VALUE;
    }
    state.allocations.erase(found);
    state.epoch.fetch_add(1);
    return CUDA_SUCCESS;
}

CUresult allocate_async(CUdeviceptr* address, std::size_t bytes, CUstream handle, bool per_thread) {
    CUdeviceptr made = 0;
    {
        const Guard guard(driver().mutex);
        CUstream_st* stream = resolve_stream(handle, per_thread);
        if (!stream) {
            return CUDA_ERROR_INVALID_HANDLE;
        }
        bool captured = false;
        if (const CUresult refused = admit_operation(*stream, captured)) {
            return refused;
        }
        if (captured) {
            AllocWork work;
            if (!address || bytes == 0) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
            parameters.bytesize = bytes;
            if (const CUresult failed = alloc_work(work, parameters)) {
                return failed;
            }
            made = work.parameters.dptr;
            if (const CUresult failed = capture_work(*stream, std::move(work))) {
                return failed;
            }
        } else if (const CUresult failed =
                       address ? allocate_from_current_pool(&made, bytes) : CUDA_ERROR_INVALID_VALUE) {
            return failed;
        }
    }
    *address = made;
    return CUDA_SUCCESS;
}

} // namespace

CUresult simcuda::allocate_pooled(CUmemPoolHandle_st& pool, CUdeviceptr* address, std::uint64_t bytes) {
    return allocate_on(pool.location.id, address, bytes, &pool);
}

void simcuda::forget_memory(const CUctx_st& context, bool pools) {
    std::vector<Allocation> gone;
    for (const auto& [address, allocation] : driver().allocations) {
        const bool of_pool = allocation.pooled && allocation.device == context.device;
        if (allocation.made != Made::mapped &&
            (of_pool ? pools : allocation.context == &context && !allocation.pooled)) {
            gone.push_back(allocation);
        }
    }
    for (const Allocation& allocation : gone) {
        if (allocation.made == Made::opened) {
            close_shared(allocation.address);
        } else if (release(allocation.address) != CUDA_SUCCESS) { // host memory
            if (allocation.memory == pinned) {
                munmap(reinterpret_cast<void*>(allocation.address), allocation.bytes);
            }
            driver().allocations.erase(allocation.address);
        }
    }
}

CUresult simcuda::allocate_device_memory(CUdeviceptr* address, std::uint64_t bytes) {
    return allocate(address, bytes);
}

void simcuda::release_device_memory(CUdeviceptr address) {
    release(address);
}

extern "C" CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
    // On an H200. Small blocks come from a stock of the driver's.
    constexpr Nanoseconds of_small = 900, of_large = 30'000;
    SIMCUDA_ENTER(Entry::cuMemAlloc_v2, Needs::context, bytes < (1u << 20) ? of_small : of_large)
    CUdeviceptr made = 0;
    {
        const Guard guard(driver().mutex);
        if (const CUresult refused = refuse_unsafe_call()) {
            return refused;
        }
        if (const CUresult failed = allocate(address ? &made : nullptr, bytes)) {
            return failed;
        }
    }
    // Written without the lock: the program may keep the pointer in managed memory, and then this is a host
    // fault.
    *address = made;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width, size_t height,
                                               unsigned) {
    SIMCUDA_ENTER(Entry::cuMemAllocPitch_v2)
    if (!address || !pitch || width == 0 || height == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUdeviceptr made = 0;
    const std::size_t padded = round_up(width, small_alignment);
    {
        const Guard guard(driver().mutex);
        if (const CUresult refused = refuse_unsafe_call()) {
            return refused;
        }
        if (const CUresult failed = allocate(&made, padded * height)) {
            return failed;
        }
    }
    *pitch = padded;
    *address = made;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuMemFree_v2(CUdeviceptr address) {
    constexpr Nanoseconds price = 900;
    SIMCUDA_ENTER(Entry::cuMemFree_v2, Needs::context, price)
    if (address == 0) {
        return CUDA_SUCCESS;
    }
    Driver& state = driver();
    const Guard guard(state.mutex);
    if (const CUresult refused = refuse_unsafe_call()) {
        return refused;
    }
    // cuMemFree waits for the work of the context that may still use the memory.
    state.clock.advance_to(context_end(*current_context()));
    return release(address);
}

SIMCUDA_STREAM_PAIR(cuMemAllocAsync, _ptsz, (CUdeviceptr * address, size_t bytes, CUstream stream),
                    return allocate_async(address, bytes, stream, per_thread);)

SIMCUDA_STREAM_PAIR(cuMemFreeAsync, _ptsz, (CUdeviceptr address, CUstream handle), {
    const Guard guard(driver().mutex);
    CUstream_st* stream = resolve_stream(handle, per_thread);
    if (!stream) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    bool captured = false;
    if (const CUresult refused = admit_operation(*stream, captured)) {
        return refused;
    }
    if (captured) {
        return graphs().memory.contains(address) ? capture_work(*stream, FreeWork{address})
                                                 : CUDA_ERROR_INVALID_VALUE;
    }
    const auto found = driver().allocations.find(address);
    if (found != driver().allocations.end() && found->second.memory == managed &&
        found->second.pool == nullptr) {
        return CUDA_ERROR_NOT_SUPPORTED; // so the driver, release 580
    }
    if (found == driver().allocations.end() ||
        (found->second.memory != device_memory && found->second.pool == nullptr)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return release(address);
})

extern "C" CUresult CUDAAPI cuMemGetInfo_v2(size_t* free, size_t* total) {
    SIMCUDA_ENTER(Entry::cuMemGetInfo_v2, Needs::context, driver().prices.memory_info_call)
    std::uint64_t left = 0;
    {
        const Guard guard(driver().mutex);
        const int device = current_context()->device;
        const std::uint64_t taken =
            driver().devices[static_cast<std::size_t>(device)].allocated + held_by_pools(device);
        left = driver().config.capacity - std::min(driver().config.capacity, taken);
    }
    if (free) {
        *free = left;
    }
    if (total) {
        *total = driver().config.capacity;
    }
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
    SIMCUDA_ENTER(Entry::cuMemGetAddressRange_v2)
    const Guard guard(driver().mutex);
    const Allocation* found = driver().find(address);
    if (!found) {
        return CUDA_ERROR_NOT_FOUND;
    }
    if (base) {
        *base = found->address;
    }
    if (bytes) {
        *bytes = found->bytes;
    }
    return CUDA_SUCCESS;
}
