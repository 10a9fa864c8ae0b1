/// Virtual memory management: addresses, memory, and one mapped to the other. What is mapped is an allocation.
#pragma once

#include "interposer/wrappers/placement.hpp"

namespace umadvisor::wrappers {

/// Records the call; a range that was mapped is entered as an allocation, one that was unmapped leaves with
/// everything that was mapped into it.
void finish_virtual_memory(trace::VirtualMemory& record) noexcept;

template <Entry E, class... Arguments>
CUresult virtual_memory(trace::VirtualMemory& record, Arguments... arguments) noexcept {
    const CUresult result = timed<E>(record, arguments...);
    finish_virtual_memory(record);
    return result;
}

struct reserve_addresses : WhilePaused {
    template <Entry E>
    static CUresult call(CUdeviceptr* out, std::size_t bytes, std::size_t alignment, CUdeviceptr wanted,
                         unsigned long long flags) noexcept {
        trace::VirtualMemory record;
        record.action = trace::VirtualMemoryAction::reserve;
        record.bytes = bytes;
        const CUresult result = timed<E>(record, out, bytes, alignment, wanted, flags);
        record.address = answered(result, out);
        finish_virtual_memory(record);
        return result;
    }
};

template <trace::VirtualMemoryAction Action>
struct OfRange : WhilePaused {
    template <Entry E>
    static CUresult call(CUdeviceptr address, std::size_t bytes) noexcept {
        trace::VirtualMemory record;
        record.action = Action;
        record.address = address;
        record.bytes = bytes;
        return virtual_memory<E>(record, address, bytes);
    }
};
using free_addresses = OfRange<trace::VirtualMemoryAction::free>;
using unmap_memory = OfRange<trace::VirtualMemoryAction::unmap>;

struct create_memory : WhilePaused {
    template <Entry E>
    static CUresult call(CUmemGenericAllocationHandle* out, std::size_t bytes,
                         const CUmemAllocationProp* wanted, unsigned long long flags) noexcept {
        trace::VirtualMemory record;
        record.action = trace::VirtualMemoryAction::create;
        record.bytes = bytes;
        if (wanted != nullptr) {
            const Place place(wanted->location);
            record.location = place.location;
            record.location_id = place.id;
            record.flags = wanted->requestedHandleTypes;
        }
        const CUresult result = timed<E>(record, out, bytes, wanted, flags);
        record.handle = answered(result, out);
        finish_virtual_memory(record);
        return result;
    }
};

struct release_memory : WhilePaused {
    template <Entry E>
    static CUresult call(CUmemGenericAllocationHandle handle) noexcept {
        trace::VirtualMemory record;
        record.action = trace::VirtualMemoryAction::release;
        record.handle = handle;
        return virtual_memory<E>(record, handle);
    }
};

struct retain_memory : WhilePaused {
    template <Entry E>
    static CUresult call(CUmemGenericAllocationHandle* out, void* address) noexcept {
        trace::VirtualMemory record;
        record.action = trace::VirtualMemoryAction::retain;
        record.address = reinterpret_cast<std::uint64_t>(address);
        const CUresult result = timed<E>(record, out, address);
        record.handle = answered(result, out);
        finish_virtual_memory(record);
        return result;
    }
};

struct map_memory : WhilePaused {
    template <Entry E>
    static CUresult call(CUdeviceptr address, std::size_t bytes, std::size_t offset,
                         CUmemGenericAllocationHandle handle, unsigned long long flags) noexcept {
        trace::VirtualMemory record;
        record.action = trace::VirtualMemoryAction::map;
        record.address = address;
        record.bytes = bytes;
        record.offset = offset;
        record.handle = handle;
        return virtual_memory<E>(record, address, bytes, offset, handle, flags);
    }
};

struct map_arrays : WhilePaused {
    template <Entry E>
    static CUresult call(CUarrayMapInfo* maps, unsigned count, CUstream stream) noexcept {
        trace::VirtualMemory record;
        record.action = trace::VirtualMemoryAction::map_array;
        record.bytes = count;
        return virtual_memory<E>(record, maps, count, stream);
    }
};

struct set_access : WhilePaused {
    template <Entry E>
    static CUresult call(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* access,
                         std::size_t count) noexcept {
        trace::VirtualMemory record;
        record.action = trace::VirtualMemoryAction::set_access;
        record.address = address;
        record.bytes = bytes;
        for (std::size_t i = 0; access != nullptr && i < count; ++i) {
            const Place to(access[i].location);
            if (i == 0) {
                record.location = to.location;
                record.location_id = to.id;
                record.flags = static_cast<std::uint64_t>(access[i].flags);
            }
            if (to.location == trace::Location::device && to.id < 64)
                record.devices |= std::uint64_t{1} << to.id;
        }
        return virtual_memory<E>(record, address, bytes, access, count);
    }
};

struct export_memory : WhilePaused {
    template <Entry E>
    static CUresult call(void* out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                         unsigned long long flags) noexcept {
        trace::VirtualMemory record;
        record.action = trace::VirtualMemoryAction::export_handle;
        record.handle = handle;
        record.flags = static_cast<std::uint64_t>(type);
        return virtual_memory<E>(record, out, handle, type, flags);
    }
};

struct import_memory : WhilePaused {
    template <Entry E>
    static CUresult call(CUmemGenericAllocationHandle* out, void* from,
                         CUmemAllocationHandleType type) noexcept {
        trace::VirtualMemory record;
        record.action = trace::VirtualMemoryAction::import_handle;
        record.flags = static_cast<std::uint64_t>(type);
        const CUresult result = timed<E>(record, out, from, type);
        record.handle = answered(result, out);
        finish_virtual_memory(record);
        return result;
    }
};

} // namespace umadvisor::wrappers
