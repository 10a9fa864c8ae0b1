/// CUDA arrays and mipmapped arrays: allocations whose address is a handle.
#pragma once

#include "interposer/wrappers/allocation.hpp"
#include "interposer/wrappers/array_size.hpp"

namespace umadvisor::wrappers {

/// Enters a new array under its handle. `record` has its times and status.
void finish_array(trace::Alloc& record, const void* handle, const ArrayExtent& extent,
                  unsigned levels) noexcept;

/// Enters a level's handle, with the id of its mipmapped array.
void note_level(CUmipmappedArray whole, CUarray level) noexcept;

/// Removes the handle before the driver destroys the array, and enters it again if the driver refuses.
void begin_destroy(FreeScope& scope, const void* handle) noexcept;
void finish_destroy(FreeScope& scope, bool has_levels) noexcept;

/// CUDA_ARRAY_DESCRIPTOR and CUDA_ARRAY3D_DESCRIPTOR, their 32-bit forms included.
template <class Descriptor>
ArrayExtent extent_of(const Descriptor* given) noexcept {
    if (given == nullptr)
        return {};
    ArrayExtent extent{given->Width, given->Height, 0, given->Format, given->NumChannels, 0};
    if constexpr (requires { given->Depth; }) {
        extent.depth = given->Depth;
        extent.flags = given->Flags;
    }
    return extent;
}

struct create_array : WhilePaused {
    template <Entry E, class Descriptor>
    static CUresult call(CUarray* out, const Descriptor* given) noexcept {
        trace::Alloc record;
        const CUresult result = timed<E>(record, out, given);
        finish_array(record, answered(result, out), extent_of(given), 1);
        return result;
    }
};

struct create_mipmapped_array : WhilePaused {
    template <Entry E>
    static CUresult call(CUmipmappedArray* out, const CUDA_ARRAY3D_DESCRIPTOR* given,
                         unsigned levels) noexcept {
        trace::Alloc record;
        const CUresult result = timed<E>(record, out, given, levels);
        finish_array(record, answered(result, out), extent_of(given), levels);
        return result;
    }
};

struct get_array_level : WhilePaused {
    template <Entry E>
    static CUresult call(CUarray* out, CUmipmappedArray whole, unsigned level) noexcept {
        const CUresult result = attach::real<E>()(out, whole, level);
        if (const CUarray level_handle = answered(result, out))
            note_level(whole, level_handle);
        return result;
    }
};

struct destroy_array : WhilePaused {
    template <Entry E, class Handle>
    static CUresult call(Handle handle) noexcept {
        FreeScope scope;
        begin_destroy(scope, handle);
        const CUresult result = timed<E>(scope.record, handle);
        finish_destroy(scope, std::is_same_v<Handle, CUmipmappedArray>);
        return result;
    }
};

} // namespace umadvisor::wrappers
