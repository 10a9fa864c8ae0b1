#include "interposer/observe/memory_class.hpp"

#include "interposer/attach/real.hpp"
#include "interposer/observe/allocations.hpp"
#include "interposer/observe/host_ranges.hpp"
#include "interposer/observe/range_cache.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"

namespace umadvisor::observe {

namespace {

using attach::Entry;
using attach::real;

/// How long an answer of the driver counts, since mappings change unseen.
constexpr std::uint64_t believed_nanoseconds = 250'000'000;

constinit RangeCache cache;

/// In RangeCache::Entry::kind, beside the memory.
constexpr std::uint64_t file_bit = 0x100;

End known_end(const RangeCache::Entry& entry) {
    return {static_cast<trace::Memory>(entry.kind & ~file_bit), {}, entry.id, 0, (entry.kind & file_bit) != 0};
}

template <class Value>
CUresult ask(Value& value, CUpointer_attribute which, std::uint64_t address) {
    return real<Entry::cuPointerGetAttribute>()(&value, which, address);
}

End ask_driver(std::uint64_t address, std::uint64_t bytes, std::uint64_t& first, std::uint64_t& last) {
    first = address;
    last = address + (bytes != 0 ? bytes : 1);
    unsigned type = 0;
    const CUresult answer = ask(type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    if (answer == CUDA_ERROR_INVALID_VALUE) { // "not allocated by, mapped by, or registered with a CUcontext"
        HostRange range{};
        if (!host_range_of(address, range))
            return {trace::Memory::pageable, {}, 0};
        first = range.first;
        last = range.last;
        return {trace::Memory::pageable, {}, range.id, 0, range.kind == trace::HostRangeKind::file};
    }
    if (answer != CUDA_SUCCESS)
        return {trace::Memory::unknown, {}, 0};
    CUdeviceptr base = 0;
    std::size_t size = 0;
    if (ask(base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address) == CUDA_SUCCESS &&
        ask(size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address) == CUDA_SUCCESS && address - base < size) {
        first = base;
        last = base + size;
    }
    unsigned managed = 0; // the driver writes a bool of its own width
    if (ask(managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) == CUDA_SUCCESS && (managed & 0xff) != 0)
        return {trace::Memory::managed, {}, 0};
    switch (type) {
    case CU_MEMORYTYPE_HOST:
        return {trace::Memory::pinned, {}, 0};
    case CU_MEMORYTYPE_DEVICE:
        return {trace::Memory::device, {}, 0};
    case CU_MEMORYTYPE_ARRAY:
        return {trace::Memory::array, {}, 0};
    case CU_MEMORYTYPE_UNIFIED:
        return {trace::Memory::managed, {}, 0};
    default:
        return {trace::Memory::unknown, {}, 0};
    }
}

} // namespace

End classify(std::uint64_t address, std::uint64_t bytes) noexcept {
    if (address == 0)
        return {trace::Memory::unknown, {}, 0};
    Allocation allocation;
    if (allocations().find(address, allocation))
        return {allocation.memory, trace::AllocationId{allocation.id}, 0, allocation.device};
    const std::uint64_t generation = allocations().generation();
    const std::uint64_t now = record::run_nanoseconds();
    RangeCache::Entry entry{};
    // Pageable memory stays pageable when other memory is allocated or freed: a new allocation here would be in
    // the index.
    if (cache.find(address, entry) && now < entry.until &&
        (entry.generation == generation || known_end(entry).memory == trace::Memory::pageable))
        return known_end(entry);
    const record::Quiet quiet;
    const std::uint64_t start = record::now();
    const End end = ask_driver(address, bytes, entry.first, entry.last);
    // A range without an id, or that the driver could not be asked about, is looked up again.
    if (end.memory != trace::Memory::unknown &&
        (end.memory != trace::Memory::pageable || end.host_range != 0)) {
        entry.kind = static_cast<std::uint64_t>(end.memory) | (end.of_file ? file_bit : 0);
        entry.id = end.host_range;
        entry.generation = generation;
        entry.until = now + believed_nanoseconds;
        cache.put(entry);
    }
    record::charge(record::now() - start);
    return end;
}

End classify_array(std::uint64_t handle) noexcept {
    Allocation array;
    return {trace::Memory::array,
            trace::AllocationId{handle != 0 && arrays().find(handle, array) ? array.id : 0}, 0};
}

} // namespace umadvisor::observe
