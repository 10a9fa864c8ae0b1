#include "interposer/wrappers/array.hpp"

#include "interposer/observe/allocations.hpp"
#include "interposer/observe/contexts.hpp"

#include <atomic>

namespace umadvisor::wrappers {

namespace {

/// Notes once that their bytes are not known, since it is not recorded what is mapped into them.
void note_unmapped_arrays() {
    static std::atomic_flag noted;
    if (!noted.test_and_set(std::memory_order_relaxed))
        record::note("sparse or deferred-mapping CUDA arrays are recorded with 0 bytes: they have no memory of "
                     "their own, and memory mapped into them is not tracked");
}

} // namespace

void finish_array(trace::Alloc& record, const void* handle, const ArrayExtent& extent,
                  unsigned levels) noexcept {
    const KeepErrno keep;
    record.memory = trace::Memory::array;
    record.flags = extent.flags;
    record.bytes = array_bytes(extent, levels);
    record.stack = record::stack();
    if (record.status == CUDA_SUCCESS && handle != nullptr) {
        const std::uint64_t id = observe::allocations().next_id();
        record.allocation = trace::AllocationId{id};
        record.address = number(handle);
        record.device = observe::current_device();
        // It has no length in the index, so that only the handle itself finds the array.
        observe::Allocation array{};
        array.id = id;
        array.address = record.address;
        array.memory = trace::Memory::array;
        array.device = static_cast<std::uint32_t>(record.device);
        array.context = observe::current_context_number();
        observe::arrays().insert(array);
        if ((extent.flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)) != 0)
            note_unmapped_arrays();
    }
    record::write(record);
}

void note_level(CUmipmappedArray whole, CUarray level) noexcept {
    const KeepErrno keep;
    observe::Allocation array;
    if (!observe::arrays().find(number(whole), array))
        return;
    array.address = number(level);
    observe::arrays().insert(array);
}

void begin_destroy(FreeScope& scope, const void* handle) noexcept {
    const KeepErrno keep;
    scope.record.address = number(handle);
    if (handle != nullptr && observe::arrays().erase(scope.record.address, scope.removed))
        scope.record.allocation = trace::AllocationId{scope.removed.id};
}

void finish_destroy(FreeScope& scope, bool has_levels) noexcept {
    const KeepErrno keep;
    if (scope.removed.id != 0 && scope.record.status != CUDA_SUCCESS)
        observe::arrays().insert(scope.removed);
    else if (scope.removed.id != 0 && has_levels)
        observe::arrays().erase_all(scope.removed.id);
    scope.record.stack = record::stack();
    record::write(scope.record);
}

} // namespace umadvisor::wrappers
