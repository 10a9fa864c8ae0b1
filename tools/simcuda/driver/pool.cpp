// Memory pools (CUDA driver API, "Stream Ordered Memory Allocator").
#include "tools/simcuda/driver/pool.hpp"
#include "tools/simcuda/driver/capture.hpp"
#include "tools/simcuda/driver/managed.hpp"
#include "tools/simcuda/driver/memory.hpp"
#include "tools/simcuda/driver/shared.hpp"
#include "tools/simcuda/driver/stream.hpp"

#include <sys/mman.h>

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

using namespace simcuda;

namespace {

/// Kind of memory, kind of location, its number.
using Key = std::tuple<CUmemAllocationType, CUmemLocationType, int>;

struct Pools {
    std::set<CUmemoryPool> live, destroyed; ///< allocations that outlive their pool still point to it
    std::map<Key, CUmemoryPool> defaults, current;
};

Pools& pools() {
    static auto* only = new Pools;
    return *only;
}

bool describes(CUmemAllocationType type, CUmemLocation location) {
    switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        return location.id >= 0 && location.id < static_cast<int>(driver().devices.size());
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        return true;
    default:
        return location.type == CU_MEM_LOCATION_TYPE_NONE && type == CU_MEM_ALLOCATION_TYPE_MANAGED;
    }
}

/// A handle that no pool has any more, or a new one.
CUmemoryPool take_handle() {
    for (CUmemoryPool pool : pools().destroyed) {
        if (std::ranges::none_of(driver().allocations,
                                 [pool](const auto& entry) { return entry.second.pool == pool; })) {
            pools().destroyed.erase(pool);
            *pool = {};
            return pool;
        }
    }
    return new CUmemPoolHandle_st;
}

CUmemoryPool make(CUmemAllocationType type, CUmemLocation location) {
    CUmemoryPool pool = take_handle();
    pool->location = location;
    pool->memory = type == CU_MEM_ALLOCATION_TYPE_MANAGED         ? managed
                   : location.type == CU_MEM_LOCATION_TYPE_DEVICE ? device_memory
                                                                  : pinned;
    pools().live.insert(pool);
    return pool;
}

/// The default pool of a location, made when first asked for; nullptr where there can be none.
CUmemoryPool default_pool(CUmemAllocationType type, CUmemLocation location) {
    if (!describes(type, location)) {
        return nullptr;
    }
    CUmemoryPool& pool = pools().defaults[{type, location.type, location.id}];
    return pool ? pool : pool = make(type, location);
}

CUmemoryPool current_pool(CUmemAllocationType type, CUmemLocation location) {
    const auto found = pools().current.find({type, location.type, location.id});
    return found != pools().current.end() ? found->second : default_pool(type, location);
}

CUmemLocation on_device(CUdevice device) {
    return {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
}

CUresult answer(CUmemoryPool* out, CUmemoryPool pool, CUresult otherwise) {
    if (!out || !pool) {
        return pool ? CUDA_ERROR_INVALID_VALUE : otherwise;
    }
    *out = pool;
    return CUDA_SUCCESS;
}

CUresult set_current(CUmemAllocationType type, CUmemLocation location, CUmemoryPool pool) {
    // cuDeviceSetMemPool: "the memory pool must be local to the specified device".
    if (!describes(type, location) || !pools().live.contains(pool) || pool->location.type != location.type ||
        pool->location.id != location.id) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pools().current[{type, location.type, location.id}] = pool;
    return CUDA_SUCCESS;
}

CUresult allocate_pinned(CUdeviceptr* address, std::uint64_t bytes) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    Driver& state = driver();
    *address = reinterpret_cast<CUdeviceptr>(at);
    state.allocations.emplace(*address, Allocation{*address, bytes, pinned, current_context()->device, 0, true,
                                                   ++state.ids, current_context()});
    return CUDA_SUCCESS;
}

/// Memory from a managed pool of a device is there from the start, and prefers to be (release 580).
void settle_on_device(const Allocation& allocation, int device) {
    Driver& state = driver();
    const residency::Processor there = residency::device_processor(static_cast<unsigned>(device));
    state.memory->advise(residency::Advice::set_preferred_location, there, allocation.address, allocation.bytes,
                         state.clock.now());
    state.memory->prefetch(there, allocation.address, allocation.bytes, state.clock.now());
}

CUresult allocate(CUmemPoolHandle_st& pool, CUdeviceptr* address, std::uint64_t bytes) {
    if (pool.imported) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (bytes == 0) { // the null address, unlike cuMemAlloc (release 580)
        *address = 0;
        return CUDA_SUCCESS;
    }
    const CUresult made = pool.memory == device_memory ? allocate_pooled(pool, address, bytes)
                          : pool.memory == managed     ? allocate_managed(address, bytes, CU_MEM_ATTACH_GLOBAL)
                                                       : allocate_pinned(address, bytes);
    if (made == CUDA_SUCCESS) {
        if (pool.mapped >= bytes) {
            pool.mapped -= bytes;
            publish_device_use(pool.location.id);
        } else if (pool.memory == device_memory) {
            driver().clock.advance(residency::transfer_time(bytes, driver().prices.pool_map));
        }
        Allocation& allocation = driver().allocations.at(*address);
        allocation.pooled = true;
        allocation.pool = &pool;
        pool.used += bytes;
        pool.used_high = std::max(pool.used, pool.used_high);
        if (pool.memory == managed && pool.location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
            settle_on_device(allocation, pool.location.id);
        }
    }
    return made;
}

CUresult allocate_ordered(CUdeviceptr* address, std::size_t bytes, CUmemoryPool pool, CUstream handle,
                          bool per_thread) {
    CUdeviceptr made = 0;
    {
        const Guard guard(driver().mutex);
        CUstream_st* stream = resolve_stream(handle, per_thread);
        if (!stream || !pools().live.contains(pool)) {
            return stream ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
        }
        bool captured = false;
        if (const CUresult refused = admit_operation(*stream, captured)) {
            return refused;
        }
        // Allocation nodes of graphs are made from the device's graph memory, not from a pool.
        if (const CUresult failed = captured ? CUDA_ERROR_NOT_SUPPORTED : allocate(*pool, &made, bytes)) {
            return failed;
        }
    }
    *address = made;
    return CUDA_SUCCESS;
}

/// The value of a rule of reuse is an int, a size a cuuint64_t.
CUresult attribute(CUmemPoolHandle_st& pool, CUmemPool_attribute which, void* value, bool set) {
    const auto exchange = [set](auto& kept, void* given) {
        using Kept = std::remove_reference_t<decltype(kept)>;
        if (set) {
            kept = *static_cast<Kept*>(given);
        } else {
            *static_cast<Kept*>(given) = kept;
        }
        return CUDA_SUCCESS;
    };
    switch (which) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        return exchange(pool.reuse[which - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES], value);
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        return exchange(pool.release_threshold, value);
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        return set ? CUDA_ERROR_INVALID_VALUE : exchange(pool.used, value);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: {
        cuuint64_t reserved = pool.used + pool.mapped;
        return set ? CUDA_ERROR_INVALID_VALUE : exchange(reserved, value);
    }
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        return exchange(pool.used_high, value);
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/// Runs `act(pool)` on a live pool under the lock.
template <class Act>
CUresult with_pool(CUmemoryPool pool, Act act) {
    const Guard guard(driver().mutex);
    return pools().live.contains(pool) ? act(*pool) : CUDA_ERROR_INVALID_VALUE;
}

} // namespace

CUresult simcuda::allocate_from_current_pool(CUdeviceptr* address, std::uint64_t bytes) {
    return allocate(*current_pool(CU_MEM_ALLOCATION_TYPE_PINNED, on_device(current_context()->device)), address,
                    bytes);
}

void simcuda::leave_pool(const Allocation& allocation) {
    if (pools().live.contains(allocation.pool)) {
        allocation.pool->used -= allocation.bytes;
        allocation.pool->mapped += allocation.memory == device_memory ? allocation.bytes : 0;
    }
}

void simcuda::trim_pool(CUmemPoolHandle_st& pool, std::uint64_t reserved) {
    const std::uint64_t keep = reserved - std::min(reserved, pool.used);
    if (pool.mapped > keep) {
        driver().clock.advance(residency::transfer_time(pool.mapped - keep, driver().prices.pool_map));
        pool.mapped = keep;
        publish_device_use(pool.location.id);
    }
}

void simcuda::trim_pools() {
    for (CUmemoryPool pool : pools().live) {
        trim_pool(*pool, pool->release_threshold);
    }
}

std::uint64_t simcuda::held_by_pools(int device) {
    std::uint64_t held = 0;
    for (const CUmemoryPool pool : pools().live) {
        held += pool->location.type == CU_MEM_LOCATION_TYPE_DEVICE && pool->location.id == device ? pool->mapped
                                                                                                  : 0;
    }
    return held;
}

extern "C" CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* wanted) {
    SIMCUDA_ENTER(Entry::cuMemPoolCreate, Needs::initialization)
    const Guard guard(driver().mutex);
    const bool known = wanted && (wanted->allocType == CU_MEM_ALLOCATION_TYPE_PINNED ||
                                  wanted->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED);
    if (!out || !known || !describes(wanted->allocType, wanted->location)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    // Managed pools came with CUDA 13.0; release 580 makes none with a limit, none that is shared, none for a
    // use.
    if (wanted->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED &&
        (driver().config.driver_version < 13000 || wanted->maxSize != 0 ||
         wanted->handleTypes != CU_MEM_HANDLE_TYPE_NONE || wanted->usage != 0)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *out = make(wanted->allocType, wanted->location);
    return CUDA_SUCCESS;
}

void simcuda::forget_pools(int device) {
    for (auto at = pools().live.begin(); at != pools().live.end();) {
        CUmemoryPool pool = *at;
        const bool goes =
            pool->location.type == CU_MEM_LOCATION_TYPE_DEVICE && pool->location.id == device &&
            std::ranges::none_of(pools().defaults, [pool](const auto& entry) { return entry.second == pool; });
        if (goes) {
            std::erase_if(pools().current, [pool](const auto& entry) { return entry.second == pool; });
            pools().destroyed.insert(pool);
        }
        at = goes ? pools().live.erase(at) : std::next(at);
    }
}

extern "C" CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool pool) {
    SIMCUDA_ENTER(Entry::cuMemPoolDestroy, Needs::initialization)
    return with_pool(pool, [](CUmemPoolHandle_st& gone) {
        // Default pools cannot be destroyed; a current one gives way to the default.
        for (const auto& [key, by_default] : pools().defaults) {
            if (by_default == &gone) {
                return CUDA_ERROR_INVALID_VALUE;
            }
        }
        std::erase_if(pools().current, [&gone](const auto& entry) { return entry.second == &gone; });
        pools().live.erase(&gone);
        pools().destroyed.insert(&gone);
        return CUDA_SUCCESS;
    });
}

extern "C" CUresult CUDAAPI cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
    SIMCUDA_ENTER(Entry::cuMemPoolTrimTo, Needs::initialization)
    return with_pool(pool, [keep](CUmemPoolHandle_st& of) {
        trim_pool(of, keep);
        return CUDA_SUCCESS;
    });
}

extern "C" CUresult CUDAAPI cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* access, size_t count) {
    SIMCUDA_ENTER(Entry::cuMemPoolSetAccess, Needs::initialization)
    return with_pool(pool, [access, count](CUmemPoolHandle_st&) {
        return access || count == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

extern "C" CUresult CUDAAPI cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool, CUmemLocation*) {
    SIMCUDA_ENTER(Entry::cuMemPoolGetAccess, Needs::initialization)
    return with_pool(pool, [flags](CUmemPoolHandle_st&) {
        *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        return CUDA_SUCCESS;
    });
}

extern "C" CUresult CUDAAPI cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute which, void* value) {
    SIMCUDA_ENTER(Entry::cuMemPoolSetAttribute, Needs::initialization)
    return with_pool(pool, [=](CUmemPoolHandle_st& of) { return attribute(of, which, value, true); });
}

extern "C" CUresult CUDAAPI cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute which, void* value) {
    SIMCUDA_ENTER(Entry::cuMemPoolGetAttribute, Needs::initialization)
    return with_pool(pool, [=](CUmemPoolHandle_st& of) { return attribute(of, which, value, false); });
}

extern "C" CUresult CUDAAPI cuDeviceGetDefaultMemPool(CUmemoryPool* out, CUdevice device) {
    SIMCUDA_ENTER(Entry::cuDeviceGetDefaultMemPool, Needs::initialization)
    const Guard guard(driver().mutex);
    return answer(out, default_pool(CU_MEM_ALLOCATION_TYPE_PINNED, on_device(device)),
                  CUDA_ERROR_INVALID_DEVICE);
}

extern "C" CUresult CUDAAPI cuDeviceGetMemPool(CUmemoryPool* out, CUdevice device) {
    SIMCUDA_ENTER(Entry::cuDeviceGetMemPool, Needs::initialization)
    const Guard guard(driver().mutex);
    return answer(out, current_pool(CU_MEM_ALLOCATION_TYPE_PINNED, on_device(device)),
                  CUDA_ERROR_INVALID_DEVICE);
}

extern "C" CUresult CUDAAPI cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
    SIMCUDA_ENTER(Entry::cuDeviceSetMemPool, Needs::initialization)
    const Guard guard(driver().mutex);
    return set_current(CU_MEM_ALLOCATION_TYPE_PINNED, on_device(device), pool);
}

extern "C" CUresult CUDAAPI cuMemGetDefaultMemPool(CUmemoryPool* out, CUmemLocation* location,
                                                   CUmemAllocationType type) {
    SIMCUDA_ENTER(Entry::cuMemGetDefaultMemPool, Needs::initialization)
    const Guard guard(driver().mutex);
    return answer(out, location ? default_pool(type, *location) : nullptr, CUDA_ERROR_INVALID_VALUE);
}

extern "C" CUresult CUDAAPI cuMemGetMemPool(CUmemoryPool* out, CUmemLocation* location,
                                            CUmemAllocationType type) {
    SIMCUDA_ENTER(Entry::cuMemGetMemPool, Needs::initialization)
    const Guard guard(driver().mutex);
    return answer(out, location ? current_pool(type, *location) : nullptr, CUDA_ERROR_INVALID_VALUE);
}

extern "C" CUresult CUDAAPI cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type,
                                            CUmemoryPool pool) {
    SIMCUDA_ENTER(Entry::cuMemSetMemPool, Needs::initialization)
    const Guard guard(driver().mutex);
    return location ? set_current(type, *location, pool) : CUDA_ERROR_INVALID_VALUE;
}

SIMCUDA_STREAM_PAIR(cuMemAllocFromPoolAsync, _ptsz,
                    (CUdeviceptr * address, size_t bytes, CUmemoryPool pool, CUstream stream),
                    return allocate_ordered(address, bytes, pool, stream, per_thread);)

extern "C" CUresult CUDAAPI cuMemPoolExportToShareableHandle(void* out, CUmemoryPool pool,
                                                             CUmemAllocationHandleType type,
                                                             unsigned long long) {
    SIMCUDA_ENTER(Entry::cuMemPoolExportToShareableHandle, Needs::initialization)
    return with_pool(pool, [out, type](CUmemPoolHandle_st& of) {
        if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || of.memory != device_memory) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *static_cast<int*>(out) = dup(driver().arena.file());
        return CUDA_SUCCESS;
    });
}

extern "C" CUresult CUDAAPI cuMemPoolImportFromShareableHandle(CUmemoryPool* out, void*,
                                                               CUmemAllocationHandleType type,
                                                               unsigned long long) {
    SIMCUDA_ENTER(Entry::cuMemPoolImportFromShareableHandle, Needs::initialization)
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Guard guard(driver().mutex);
    *out = make(CU_MEM_ALLOCATION_TYPE_PINNED, on_device(0));
    (*out)->imported = true;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuMemPoolExportPointer(CUmemPoolPtrExportData* out, CUdeviceptr address) {
    SIMCUDA_ENTER(Entry::cuMemPoolExportPointer, Needs::initialization)
    const Guard guard(driver().mutex);
    const Allocation* found = driver().find(address);
    return found && found->pool && found->memory == device_memory ? share(*found, *out)
                                                                  : CUDA_ERROR_INVALID_VALUE;
}

extern "C" CUresult CUDAAPI cuMemPoolImportPointer(CUdeviceptr* out, CUmemoryPool pool,
                                                   CUmemPoolPtrExportData* from) {
    SIMCUDA_ENTER(Entry::cuMemPoolImportPointer)
    return with_pool(pool, [out, from](CUmemPoolHandle_st& to) {
        if (!to.imported) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (const CUresult refused = open_shared(*from, Made::external, out)) {
            return refused;
        }
        Allocation& allocation = driver().allocations.at(*out);
        allocation.pooled = true;
        allocation.pool = &to;
        to.used += allocation.bytes;
        return CUDA_SUCCESS;
    });
}
