/// Memory pools of stream-ordered allocation.
#pragma once

#include "interposer/act/stand_ins.hpp"
#include "interposer/observe/pools.hpp"
#include "interposer/wrappers/placement.hpp"

namespace umadvisor::wrappers {

void write_pool(trace::Pool& record) noexcept;
inline void finish_pool(trace::Pool& record, CUmemoryPool pool) noexcept {
    record.pool = number(pool);
    write_pool(record);
}
/// A pool that the driver returned is recorded if it is new to us, or if the call failed.
void finish_pool_look_up(trace::Pool& record, CUmemoryPool pool) noexcept;
/// A pointer that another process exported from its pool is an allocation of ours, freed like one.
void finish_pointer_import(trace::Pool& record, CUmemoryPool pool, CUdeviceptr address) noexcept;

inline void describe(trace::Pool& record, CUmemLocation location, CUmemAllocationType type) noexcept {
    const MemoryLocation named(location);
    record.location = named.kind;
    record.location_id = named.id;
    record.memory = observe::memory_at(type, location.type);
}

inline void describe(trace::Pool& record, CUdevice device) noexcept {
    describe(record, {CU_MEM_LOCATION_TYPE_DEVICE, {device}}, CU_MEM_ALLOCATION_TYPE_PINNED);
}

inline void describe(trace::Pool& record, const CUmemLocation* location, CUmemAllocationType type) noexcept {
    if (location != nullptr)
        describe(record, *location, type);
}

struct create_pool : WhilePaused {
    template <Entry E>
    static CUresult call(CUmemoryPool* out, const CUmemPoolProps* properties) noexcept {
        trace::Pool record;
        record.action = trace::PoolAction::create;
        if (properties != nullptr) {
            describe(record, properties->location, properties->allocType);
            record.attribute = static_cast<std::uint64_t>(properties->handleTypes);
            record.value = properties->maxSize;
        }
        const CUresult result = timed<E>(record, out, properties);
        const CUmemoryPool made = answered(result, out);
        if (made != nullptr) {
            observe::note_pool(made, record.memory);
            act::note_pool_made(made, *properties);
        }
        finish_pool(record, made);
        return result;
    }
};

struct destroy_pool : WhilePaused {
    template <Entry E>
    static CUresult call(CUmemoryPool pool) noexcept {
        trace::Pool record;
        record.action = trace::PoolAction::destroy;
        act::notify_started<&act::Action::before_pool_change>(pool);
        // Before the call, after which another thread may get the handle.
        const trace::Memory memory = observe::forget_pool(pool);
        const act::PoolTwins twins = act::remove_twins(pool);
        const CUresult result = timed<E>(record, pool);
        if (result == CUDA_SUCCESS) {
            act::destroy_twins(twins);
        } else {
            if (memory != trace::Memory::unknown)
                observe::note_pool(pool, memory);
            act::restore_twins(twins);
        }
        finish_pool(record, pool);
        return result;
    }
};

struct trim_pool : WhilePaused {
    template <Entry E>
    static CUresult call(CUmemoryPool pool, std::size_t keep) noexcept {
        trace::Pool record;
        record.action = trace::PoolAction::trim;
        record.value = keep;
        const CUresult result = timed<E>(record, pool, keep);
        if (result == CUDA_SUCCESS)
            act::trim_twins(pool, keep);
        finish_pool(record, pool);
        return result;
    }
};

struct set_pool_access : Recorded<set_pool_access, write_pool, trace::PoolAction::set_access> {
    static void fill(trace::Pool& record, CUmemoryPool pool, const CUmemAccessDesc* list,
                     std::size_t count) noexcept {
        record.pool = number(pool);
        const Access access(list, count);
        record.location = access.location;
        record.location_id = access.id;
        record.attribute = access.flags;
        record.value = access.devices;
    }
};

struct set_pool_attribute : WhilePaused {
    template <Entry E>
    static CUresult call(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) noexcept {
        trace::Pool record;
        record.action = trace::PoolAction::set_attribute;
        record.attribute = static_cast<std::uint64_t>(attribute);
        if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
            act::notify_started<&act::Action::before_pool_change>(pool);
        const CUresult result = timed<E>(record, pool, attribute, value);
        // cuMemPoolSetAttribute: the rules of reuse are an int, sizes a cuuint64_t. The value of a call that
        // failed may be neither.
        if (result == CUDA_SUCCESS && value != nullptr)
            record.value = attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES
                               ? static_cast<std::uint64_t>(*static_cast<const int*>(value))
                               : *static_cast<const cuuint64_t*>(value);
        if (result == CUDA_SUCCESS)
            act::set_on_twins(pool, attribute, value);
        finish_pool(record, pool);
        return result;
    }
};

/// Adds what was rewritten to the answer; how much the pool keeps is what the program has set.
struct get_pool_attribute : WhilePaused {
    template <Entry E>
    static CUresult call(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) noexcept {
        const CUresult result = attach::real<E>()(pool, attribute, value);
        if (result == CUDA_SUCCESS)
            act::add_of_twins(pool, attribute, value);
        if (result == CUDA_SUCCESS && attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
            act::notify_started<&act::Action::show_threshold>(pool, *static_cast<cuuint64_t*>(value));
        return result;
    }
};

/// The default or the current pool of a device, or of a location and kind of memory.
struct get_pool : WhilePaused {
    template <Entry E, class... Location>
    static CUresult call(CUmemoryPool* out, Location... location) noexcept {
        trace::Pool record;
        record.action = trace::PoolAction::get;
        describe(record, location...);
        const CUresult result = timed<E>(record, out, location...);
        finish_pool_look_up(record, answered(result, out));
        return result;
    }
};

struct set_device_pool : Recorded<set_device_pool, write_pool, trace::PoolAction::set> {
    static void fill(trace::Pool& record, CUdevice device, CUmemoryPool pool) noexcept {
        record.pool = number(pool);
        describe(record, device);
    }
};

struct set_location_pool : Recorded<set_location_pool, write_pool, trace::PoolAction::set> {
    static void fill(trace::Pool& record, const CUmemLocation* location, CUmemAllocationType type,
                     CUmemoryPool pool) noexcept {
        record.pool = number(pool);
        describe(record, location, type);
    }
};

struct export_pool : Recorded<export_pool, write_pool, trace::PoolAction::export_pool> {
    static void fill(trace::Pool& record, void*, CUmemoryPool pool, CUmemAllocationHandleType type,
                     unsigned long long) noexcept {
        record.pool = number(pool);
        record.attribute = static_cast<std::uint64_t>(type);
    }
};

struct import_pool : WhilePaused {
    template <Entry E>
    static CUresult call(CUmemoryPool* out, void* from, CUmemAllocationHandleType type,
                         unsigned long long flags) noexcept {
        trace::Pool record;
        record.action = trace::PoolAction::import_pool;
        record.attribute = static_cast<std::uint64_t>(type);
        const CUresult result = timed<E>(record, out, from, type, flags);
        const CUmemoryPool made = answered(result, out);
        if (made != nullptr) { // a pool that was destroyed unseen may have had its handle
            observe::forget_pool(made);
            act::forget_pool_twins(made);
        }
        finish_pool(record, made);
        return result;
    }
};

struct export_pool_pointer : Recorded<export_pool_pointer, write_pool, trace::PoolAction::export_pointer> {
    static void fill(trace::Pool& record, CUmemPoolPtrExportData*, CUdeviceptr address) noexcept {
        record.address = address;
    }
};

struct import_pool_pointer : WhilePaused {
    template <Entry E>
    static CUresult call(CUdeviceptr* out, CUmemoryPool pool, CUmemPoolPtrExportData* from) noexcept {
        trace::Pool record;
        record.action = trace::PoolAction::import_pointer;
        const CUresult result = timed<E>(record, out, pool, from);
        finish_pointer_import(record, pool, answered(result, out));
        return result;
    }
};

} // namespace umadvisor::wrappers
