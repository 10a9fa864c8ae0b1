// CUDA arrays and mipmapped arrays (driver API, "Memory Management", cuArray3DCreate and what follows). Planar
// and compressed formats are not modelled.
#include "tools/simcuda/driver/array.hpp"
#include "tools/simcuda/driver/capture.hpp"
#include "tools/simcuda/driver/memory.hpp"
#include "tools/simcuda/driver/stream.hpp"

#include <algorithm>
#include <bit>

using namespace simcuda;

namespace {

constexpr unsigned unmapped_flags = CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING;

/// All handles that are good.
struct Arrays {
    std::unordered_set<CUarray> arrays;
    std::unordered_set<CUmipmappedArray> mipmapped;
};
Arrays& arrays() {
    static auto* only = new Arrays;
    return *only;
}

/// Bytes of one component; 0: not modelled.
std::uint64_t component(CUarray_format format) {
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
        return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
        return 4;
    default:
        return 0;
    }
}

CUresult check(const CUDA_ARRAY3D_DESCRIPTOR& given) {
    const bool good_channels = given.NumChannels == 1 || given.NumChannels == 2 || given.NumChannels == 4;
    if (given.Width == 0 || !good_channels) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return component(given.Format) != 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

void release(CUarray_st& array) {
    arrays().arrays.erase(&array);
    // Its memory may have gone with its context.
    const Allocation* memory = array.address != 0 ? driver().find(array.address) : nullptr;
    if (memory && memory->memory == array_memory) {
        release_device_memory(array.address);
    }
}

CUresult make(std::unique_ptr<CUarray_st>& made, const CUDA_ARRAY3D_DESCRIPTOR& given) {
    auto array = std::make_unique<CUarray_st>();
    array->descriptor = given;
    array->element = component(given.Format) * given.NumChannels;
    if ((given.Flags & unmapped_flags) == 0) {
        CUdeviceptr address = 0;
        if (const CUresult failed = allocate_device_memory(&address, array->bytes())) {
            return failed;
        }
        driver().allocations.find(address)->second.memory = array_memory;
        array->address = address;
    }
    arrays().arrays.insert(array.get());
    made = std::move(array);
    return CUDA_SUCCESS;
}

CUresult create(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR& given) {
    std::unique_ptr<CUarray_st> made;
    const Guard guard(driver().mutex);
    if (const CUresult refused = refuse_unsafe_call()) {
        return refused;
    }
    CUresult failed = out ? check(given) : CUDA_ERROR_INVALID_VALUE;
    failed = failed ? failed : make(made, given);
    if (!failed) {
        *out = made.release();
    }
    return failed;
}

/// CUDA_ARRAY_DESCRIPTOR and CUDA_ARRAY3D_DESCRIPTOR, their 32-bit forms included.
template <class Descriptor>
CUresult create_from(CUarray* out, const Descriptor* given) {
    if (!given) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUDA_ARRAY3D_DESCRIPTOR whole{given->Width, given->Height, 0, given->Format, given->NumChannels, 0};
    if constexpr (requires { given->Depth; }) {
        whole.Depth = given->Depth;
        whole.Flags = given->Flags;
    }
    return create(out, whole);
}

template <class Descriptor>
CUresult describe(Descriptor* out, CUarray handle) {
    const Guard guard(driver().mutex);
    const CUarray_st* array = find_array(handle);
    if (!array || !out) {
        return array ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    }
    const CUDA_ARRAY3D_DESCRIPTOR& known = array->descriptor;
    *out = {};
    out->Width = static_cast<decltype(out->Width)>(known.Width);
    out->Height = static_cast<decltype(out->Height)>(known.Height);
    out->Format = known.Format;
    out->NumChannels = known.NumChannels;
    if constexpr (requires { out->Depth; }) {
        out->Depth = static_cast<decltype(out->Depth)>(known.Depth);
        out->Flags = known.Flags;
    }
    return CUDA_SUCCESS;
}

/// The extents of the next level: each halves, but layers and the faces of cubes stay.
CUDA_ARRAY3D_DESCRIPTOR halved(CUDA_ARRAY3D_DESCRIPTOR given) {
    const auto half = [](std::size_t extent) {
        return extent == 0 ? extent : std::max<std::size_t>(1, extent / 2);
    };
    given.Width = half(given.Width);
    given.Height = half(given.Height);
    if ((given.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) == 0) {
        given.Depth = half(given.Depth);
    }
    return given;
}

void release(CUmipmappedArray_st& whole) {
    for (const auto& level : whole.levels) {
        release(*level);
    }
}

} // namespace

const CUarray_st* simcuda::find_array(CUarray handle) {
    return arrays().arrays.contains(handle) ? handle : nullptr;
}

extern "C" CUresult CUDAAPI cuArrayCreate_v2(CUarray* out, const CUDA_ARRAY_DESCRIPTOR* given) {
    SIMCUDA_ENTER(Entry::cuArrayCreate_v2)
    return create_from(out, given);
}
extern "C" CUresult CUDAAPI cuArrayCreate(CUarray* out, const CUDA_ARRAY_DESCRIPTOR_v1* given) {
    SIMCUDA_ENTER(Entry::cuArrayCreate)
    return create_from(out, given);
}
extern "C" CUresult CUDAAPI cuArray3DCreate_v2(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* given) {
    SIMCUDA_ENTER(Entry::cuArray3DCreate_v2)
    return create_from(out, given);
}
extern "C" CUresult CUDAAPI cuArray3DCreate(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR_v1* given) {
    SIMCUDA_ENTER(Entry::cuArray3DCreate)
    return create_from(out, given);
}
extern "C" CUresult CUDAAPI cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* out, CUarray handle) {
    SIMCUDA_ENTER(Entry::cuArrayGetDescriptor_v2)
    return describe(out, handle);
}
extern "C" CUresult CUDAAPI cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* out, CUarray handle) {
    SIMCUDA_ENTER(Entry::cuArray3DGetDescriptor_v2)
    return describe(out, handle);
}

extern "C" CUresult CUDAAPI cuArrayDestroy(CUarray handle) {
    SIMCUDA_ENTER(Entry::cuArrayDestroy)
    Driver& state = driver();
    const Guard guard(state.mutex);
    if (!find_array(handle) || handle->level) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (const CUresult refused = refuse_unsafe_call()) {
        return refused;
    }
    state.clock.advance_to(context_end(*current_context()));
    release(*handle);
    delete handle;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuMipmappedArrayCreate(CUmipmappedArray* out, const CUDA_ARRAY3D_DESCRIPTOR* given,
                                                   unsigned levels) {
    SIMCUDA_ENTER(Entry::cuMipmappedArrayCreate)
    const Guard guard(driver().mutex);
    if (const CUresult refused = refuse_unsafe_call()) {
        return refused;
    }
    if (const CUresult wrong = out && given ? check(*given) : CUDA_ERROR_INVALID_VALUE) {
        return wrong;
    }
    // "clamped to the range [1, 1 + floor(log2(max(width, height, depth)))]" (cuMipmappedArrayCreate)
    const bool layered = (given->Flags & CUDA_ARRAY3D_LAYERED) != 0;
    const auto most = static_cast<unsigned>(
        std::bit_width(std::max({given->Width, given->Height, layered ? std::size_t{1} : given->Depth})));
    auto whole = std::make_unique<CUmipmappedArray_st>();
    CUDA_ARRAY3D_DESCRIPTOR extent = *given;
    for (unsigned level = 0; level < std::clamp(levels, 1u, most); ++level, extent = halved(extent)) {
        std::unique_ptr<CUarray_st> made;
        if (const CUresult failed = make(made, extent)) {
            release(*whole);
            return failed;
        }
        made->level = true;
        whole->levels.push_back(std::move(made));
    }
    arrays().mipmapped.insert(whole.get());
    *out = whole.release();
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuMipmappedArrayGetLevel(CUarray* out, CUmipmappedArray whole, unsigned level) {
    SIMCUDA_ENTER(Entry::cuMipmappedArrayGetLevel)
    const Guard guard(driver().mutex);
    if (!arrays().mipmapped.contains(whole)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (!out || level >= whole->levels.size()) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *out = whole->levels[level].get();
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuMipmappedArrayDestroy(CUmipmappedArray whole) {
    SIMCUDA_ENTER(Entry::cuMipmappedArrayDestroy)
    Driver& state = driver();
    const Guard guard(state.mutex);
    if (!arrays().mipmapped.contains(whole)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (const CUresult refused = refuse_unsafe_call()) {
        return refused;
    }
    state.clock.advance_to(context_end(*current_context()));
    release(*whole);
    arrays().mipmapped.erase(whole);
    delete whole;
    return CUDA_SUCCESS;
}
