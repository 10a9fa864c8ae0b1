#include "interposer/observe/pools.hpp"

#include "interposer/attach/real.hpp"
#include "interposer/observe/handle_table.hpp"
#include "interposer/record/bounds.hpp"

namespace umadvisor::observe {

namespace {

using attach::Entry;
using attach::real;
using trace::Memory;

constinit HandleTable<record::most(record::Bound::pools)> pools;

std::uint64_t handle_of(CUmemoryPool pool) {
    return reinterpret_cast<std::uint64_t>(pool);
}

/// Unknown where the driver does not report it: for memory that a graph will make when it is launched.
Memory ask(std::uint64_t address) {
    unsigned managed = 0, type = 0;
    if (real<Entry::cuPointerGetAttribute>()(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS)
        return Memory::unknown;
    // The driver writes a bool of its own width.
    if (real<Entry::cuPointerGetAttribute>()(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) ==
            CUDA_SUCCESS &&
        (managed & 0xff) != 0)
        return Memory::managed;
    return type == CU_MEMORYTYPE_HOST ? Memory::pinned : Memory::device;
}

} // namespace

Memory memory_at(CUmemAllocationType type, CUmemLocationType location) noexcept {
    if (type == CU_MEM_ALLOCATION_TYPE_MANAGED)
        return Memory::managed;
    return location == CU_MEM_LOCATION_TYPE_HOST || location == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
                   location == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT
               ? Memory::pinned
               : Memory::device;
}

bool note_pool(CUmemoryPool pool, Memory memory) noexcept {
    const auto value = static_cast<std::uint16_t>(memory);
    if (pools.find(handle_of(pool)) == value)
        return false;
    const bool kept = pools.put(handle_of(pool), value);
    if (!kept)
        record::reached(record::Bound::pools);
    return kept;
}

Memory forget_pool(CUmemoryPool pool) noexcept {
    const std::uint64_t known = pools.find(handle_of(pool));
    pools.erase(handle_of(pool));
    return known != pools.absent ? static_cast<Memory>(known) : Memory::unknown;
}

void forget_pools() noexcept {
    pools.erase_all();
}

Memory memory_of_pool(CUmemoryPool pool, std::uint64_t address) noexcept {
    if (const std::uint64_t known = pools.find(handle_of(pool)); known != pools.absent)
        return static_cast<Memory>(known);
    const Memory asked = ask(address);
    if (asked == Memory::unknown)
        return Memory::device;
    note_pool(pool, asked);
    return asked;
}

} // namespace umadvisor::observe
