/// Virtual memory management: addresses, memory, and mappings. A mapped range counts as an allocation.
#pragma once

#include "interposer/wrappers/placement.hpp"

namespace umadvisor::wrappers {

/// Records the call; a range that was mapped is entered as an allocation, and one that was unmapped is removed
/// with all that was mapped into it.
void finish_virtual_memory(trace::VirtualMemory& record) noexcept;

template <class Policy, trace::VirtualMemoryAction Action>
using OfVirtualMemory = Recorded<Policy, finish_virtual_memory, Action>;

struct reserve_addresses : OfVirtualMemory<reserve_addresses, trace::VirtualMemoryAction::reserve> {
    static void fill(trace::VirtualMemory& record, CUdeviceptr*, std::size_t bytes, auto...) noexcept {
        record.bytes = bytes;
    }
    static void answer(trace::VirtualMemory& record, const CUdeviceptr* out, auto...) noexcept {
        record.address = *out;
    }
};

template <trace::VirtualMemoryAction Action>
struct OfRange : OfVirtualMemory<OfRange<Action>, Action> {
    static void fill(trace::VirtualMemory& record, CUdeviceptr address, std::size_t bytes) noexcept {
        record.address = address;
        record.bytes = bytes;
    }
};
using free_addresses = OfRange<trace::VirtualMemoryAction::free>;
using unmap_memory = OfRange<trace::VirtualMemoryAction::unmap>;

struct create_memory : OfVirtualMemory<create_memory, trace::VirtualMemoryAction::create> {
    static void fill(trace::VirtualMemory& record, CUmemGenericAllocationHandle*, std::size_t bytes,
                     const CUmemAllocationProp* properties, auto...) noexcept {
        record.bytes = bytes;
        if (properties == nullptr)
            return;
        const MemoryLocation location(properties->location);
        record.location = location.kind;
        record.location_id = location.id;
        record.flags = properties->requestedHandleTypes;
    }
    static void answer(trace::VirtualMemory& record, const CUmemGenericAllocationHandle* out,
                       auto...) noexcept {
        record.handle = *out;
    }
};

struct release_memory : OfVirtualMemory<release_memory, trace::VirtualMemoryAction::release> {
    static void fill(trace::VirtualMemory& record, CUmemGenericAllocationHandle handle) noexcept {
        record.handle = handle;
    }
};

struct retain_memory : OfVirtualMemory<retain_memory, trace::VirtualMemoryAction::retain> {
    static void fill(trace::VirtualMemory& record, CUmemGenericAllocationHandle*, void* address) noexcept {
        record.address = number(address);
    }
    static void answer(trace::VirtualMemory& record, const CUmemGenericAllocationHandle* out, void*) noexcept {
        record.handle = *out;
    }
};

struct map_memory : OfVirtualMemory<map_memory, trace::VirtualMemoryAction::map> {
    static void fill(trace::VirtualMemory& record, CUdeviceptr address, std::size_t bytes, std::size_t offset,
                     CUmemGenericAllocationHandle handle, unsigned long long) noexcept {
        record.address = address;
        record.bytes = bytes;
        record.offset = offset;
        record.handle = handle;
    }
};

struct map_arrays : OfVirtualMemory<map_arrays, trace::VirtualMemoryAction::map_array> {
    static void fill(trace::VirtualMemory& record, CUarrayMapInfo*, unsigned count, auto...) noexcept {
        record.bytes = count;
    }
};

struct set_access : OfVirtualMemory<set_access, trace::VirtualMemoryAction::set_access> {
    static void fill(trace::VirtualMemory& record, CUdeviceptr address, std::size_t bytes,
                     const CUmemAccessDesc* access, std::size_t count) noexcept {
        record.address = address;
        record.bytes = bytes;
        const Access first(access, count);
        record.location = first.location;
        record.location_id = first.id;
        record.flags = first.flags;
        record.devices = first.devices;
    }
};

struct export_memory : OfVirtualMemory<export_memory, trace::VirtualMemoryAction::export_handle> {
    static void fill(trace::VirtualMemory& record, void*, CUmemGenericAllocationHandle handle,
                     CUmemAllocationHandleType type, unsigned long long) noexcept {
        record.handle = handle;
        record.flags = static_cast<std::uint64_t>(type);
    }
};

struct import_memory : OfVirtualMemory<import_memory, trace::VirtualMemoryAction::import_handle> {
    static void fill(trace::VirtualMemory& record, CUmemGenericAllocationHandle*, void*,
                     CUmemAllocationHandleType type) noexcept {
        record.flags = static_cast<std::uint64_t>(type);
    }
    static void answer(trace::VirtualMemory& record, const CUmemGenericAllocationHandle* out,
                       auto...) noexcept {
        record.handle = *out;
    }
};

} // namespace umadvisor::wrappers
