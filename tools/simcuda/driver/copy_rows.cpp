// cuMemcpy2D, cuMemcpy3D and cuMemcpy3DPeer in all their forms: each is a cuMemcpy3D.
#include "tools/simcuda/driver/copy_rows.hpp"
#include "tools/simcuda/driver/array.hpp"

using namespace simcuda;

namespace {

/// One end of the copy as the structure names it.
struct Given {
    CUmemorytype type;
    const void* host;
    CUdeviceptr device;
    CUarray array;
    std::size_t x, y, z, pitch, height, lod;
};

/// Where it begins, and how far rows and layers are apart.
struct Place {
    std::uint64_t address = 0, pitch = 0, slice = 0;
};

/// "If specified, srcPitch must be greater than or equal to WidthInBytes + srcXInBytes, and srcHeight must be
/// greater than or equal to Height + srcY" (cuMemcpy3D).
bool locate(const Given& given, const CUDA_MEMCPY3D& copy, Place& out) {
    const std::size_t width = copy.WidthInBytes, height = copy.Height, depth = copy.Depth;
    if (given.lod != 0) {
        return false; // "LOD must be 0"
    }
    if (given.type == CU_MEMORYTYPE_ARRAY) {
        const Guard guard(driver().mutex);
        const CUarray_st* array = find_array(given.array);
        if (!array || array->address == 0 || given.x % array->element != 0 || width % array->element != 0 ||
            given.x + width > array->pitch() || given.y + height > array->rows() ||
            given.z + depth > array->layers()) {
            return false;
        }
        out.pitch = array->pitch();
        out.slice = out.pitch * array->rows();
        out.address = array->address + given.z * out.slice + given.y * out.pitch + given.x;
        return true;
    }
    if (given.type != CU_MEMORYTYPE_HOST && given.type != CU_MEMORYTYPE_DEVICE &&
        given.type != CU_MEMORYTYPE_UNIFIED) {
        return false;
    }
    if ((given.pitch != 0 && given.pitch < given.x + width) || (given.pitch == 0 && (height > 1 || given.y)) ||
        (given.height != 0 && given.height < given.y + height) ||
        (given.height == 0 && (depth > 1 || given.z))) {
        return false;
    }
    const std::uint64_t base =
        given.type == CU_MEMORYTYPE_HOST ? reinterpret_cast<std::uint64_t>(given.host) : given.device;
    out.pitch = given.pitch;
    out.slice = given.pitch * given.height;
    out.address = base + given.z * out.slice + given.y * out.pitch + given.x;
    return base != 0;
}

/// Any of the structures as a CUDA_MEMCPY3D.
template <class Structure>
CUDA_MEMCPY3D widened(const Structure& from) {
    CUDA_MEMCPY3D to{};
    to.srcXInBytes = from.srcXInBytes;
    to.srcY = from.srcY;
    to.srcMemoryType = from.srcMemoryType;
    to.srcHost = from.srcHost;
    to.srcDevice = from.srcDevice;
    to.srcArray = from.srcArray;
    to.srcPitch = from.srcPitch;
    to.dstXInBytes = from.dstXInBytes;
    to.dstY = from.dstY;
    to.dstMemoryType = from.dstMemoryType;
    to.dstHost = from.dstHost;
    to.dstDevice = from.dstDevice;
    to.dstArray = from.dstArray;
    to.dstPitch = from.dstPitch;
    to.WidthInBytes = from.WidthInBytes;
    to.Height = from.Height;
    to.Depth = 1;
    if constexpr (requires { from.Depth; }) {
        to.srcZ = from.srcZ;
        to.srcLOD = from.srcLOD;
        to.srcHeight = from.srcHeight;
        to.dstZ = from.dstZ;
        to.dstLOD = from.dstLOD;
        to.dstHeight = from.dstHeight;
        to.Depth = from.Depth;
    }
    return to;
}

template <class Structure>
CUresult copy_given(const Structure* given, CUstream stream, bool per_thread, CopyForm form) {
    return given ? copy_rows(widened(*given), stream, per_thread, form) : CUDA_ERROR_INVALID_VALUE;
}

} // namespace

bool simcuda::place_rows(const CUDA_MEMCPY3D& given, PlacedRows& out) {
    Place source, target;
    if (!locate({given.srcMemoryType, given.srcHost, given.srcDevice, given.srcArray, given.srcXInBytes,
                 given.srcY, given.srcZ, given.srcPitch, given.srcHeight, given.srcLOD},
                given, source) ||
        !locate({given.dstMemoryType, given.dstHost, given.dstDevice, given.dstArray, given.dstXInBytes,
                 given.dstY, given.dstZ, given.dstPitch, given.dstHeight, given.dstLOD},
                given, target)) {
        return false;
    }
    out = {target.address,
           source.address,
           {given.WidthInBytes, given.Height, given.Depth, target.pitch, target.slice, source.pitch,
            source.slice}};
    return true;
}

CUresult simcuda::copy_rows(const CUDA_MEMCPY3D& given, CUstream stream, bool per_thread, CopyForm form) {
    PlacedRows rows;
    if (!place_rows(given, rows)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return copy(rows.target, rows.source, rows.shape, stream, per_thread, form, copy_directions, &given);
}

#define SIMCUDA_ROWS(name, Structure)                                                                          \
    SIMCUDA_STREAM_PAIR(name, _ptds, (const Structure* given),                                                 \
                        return copy_given(given, nullptr, per_thread, CopyForm::synchronous);)
#define SIMCUDA_ROWS_ASYNC(name, Structure)                                                                    \
    SIMCUDA_STREAM_PAIR(name, _ptsz, (const Structure* given, CUstream stream),                                \
                        return copy_given(given, stream, per_thread, CopyForm::asynchronous);)
// The oldest forms have no twins for per-thread default streams.
#define SIMCUDA_OLD_ROWS(name, Structure)                                                                      \
    extern "C" CUresult CUDAAPI name(const Structure* given) {                                                 \
        SIMCUDA_ENTER(Entry::name)                                                                             \
        return copy_given(given, nullptr, false, CopyForm::synchronous);                                       \
    }
#define SIMCUDA_OLD_ROWS_ASYNC(name, Structure)                                                                \
    extern "C" CUresult CUDAAPI name(const Structure* given, CUstream stream) {                                \
        SIMCUDA_ENTER(Entry::name)                                                                             \
        return copy_given(given, stream, false, CopyForm::asynchronous);                                       \
    }

SIMCUDA_ROWS(cuMemcpy2D_v2, CUDA_MEMCPY2D)
SIMCUDA_ROWS(cuMemcpy2DUnaligned_v2, CUDA_MEMCPY2D)
SIMCUDA_ROWS(cuMemcpy3D_v2, CUDA_MEMCPY3D)
SIMCUDA_ROWS(cuMemcpy3DPeer, CUDA_MEMCPY3D_PEER)
SIMCUDA_ROWS_ASYNC(cuMemcpy2DAsync_v2, CUDA_MEMCPY2D)
SIMCUDA_ROWS_ASYNC(cuMemcpy3DAsync_v2, CUDA_MEMCPY3D)
SIMCUDA_ROWS_ASYNC(cuMemcpy3DPeerAsync, CUDA_MEMCPY3D_PEER)
SIMCUDA_OLD_ROWS(cuMemcpy2D, CUDA_MEMCPY2D_v1)
SIMCUDA_OLD_ROWS(cuMemcpy2DUnaligned, CUDA_MEMCPY2D_v1)
SIMCUDA_OLD_ROWS(cuMemcpy3D, CUDA_MEMCPY3D_v1)
SIMCUDA_OLD_ROWS_ASYNC(cuMemcpy2DAsync, CUDA_MEMCPY2D_v1)
SIMCUDA_OLD_ROWS_ASYNC(cuMemcpy3DAsync, CUDA_MEMCPY3D_v1)
