// cuMemcpyHtoA, cuMemcpyAtoD and so on: bytes to and from an offset in an array.
#include "tools/simcuda/driver/array.hpp"
#include "tools/simcuda/driver/copy.hpp"

using namespace simcuda;

namespace {

/// One end of the copy. An array's elements lie packed, so an offset is a place.
struct Place {
    Place(CUdeviceptr device) : address(device) {}
    Place(const void* host) : address(reinterpret_cast<std::uint64_t>(host)) {}
    Place(CUarray handle, std::size_t offset, std::size_t bytes) {
        const Guard guard(driver().mutex);
        const CUarray_st* array = find_array(handle);
        if (array && array->address != 0 && offset <= array->bytes() && bytes <= array->bytes() - offset) {
            address = array->address + offset;
        }
    }
    std::uint64_t address = 0;
};

CUresult copy_ends(Place target, Place source, std::size_t bytes, CUstream stream, bool per_thread,
                   CopyForm form) {
    if (target.address == 0 || source.address == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return copy(target.address, source.address, {bytes, 1, 1, 0, 0, 0, 0}, stream, per_thread, form);
}

} // namespace

SIMCUDA_STREAM_PAIR(cuMemcpyHtoA_v2, _ptds, (CUarray to, size_t at, const void* from, size_t bytes),
                    return copy_ends({to, at, bytes}, from, bytes, nullptr, per_thread, CopyForm::synchronous);)
SIMCUDA_STREAM_PAIR(cuMemcpyDtoA_v2, _ptds, (CUarray to, size_t at, CUdeviceptr from, size_t bytes),
                    return copy_ends({to, at, bytes}, from, bytes, nullptr, per_thread, CopyForm::synchronous);)
SIMCUDA_STREAM_PAIR(cuMemcpyAtoH_v2, _ptds, (void* to, CUarray from, size_t at, size_t bytes),
                    return copy_ends(to, {from, at, bytes}, bytes, nullptr, per_thread, CopyForm::synchronous);)
SIMCUDA_STREAM_PAIR(cuMemcpyAtoD_v2, _ptds, (CUdeviceptr to, CUarray from, size_t at, size_t bytes),
                    return copy_ends(to, {from, at, bytes}, bytes, nullptr, per_thread, CopyForm::synchronous);)
SIMCUDA_STREAM_PAIR(cuMemcpyAtoA_v2, _ptds,
                    (CUarray to, size_t to_at, CUarray from, size_t from_at, size_t bytes),
                    return copy_ends({to, to_at, bytes}, {from, from_at, bytes}, bytes, nullptr, per_thread,
                                     CopyForm::synchronous);)
SIMCUDA_STREAM_PAIR(cuMemcpyHtoAAsync_v2, _ptsz,
                    (CUarray to, size_t at, const void* from, size_t bytes, CUstream stream),
                    return copy_ends({to, at, bytes}, from, bytes, stream, per_thread, CopyForm::asynchronous);)
SIMCUDA_STREAM_PAIR(cuMemcpyAtoHAsync_v2, _ptsz,
                    (void* to, CUarray from, size_t at, size_t bytes, CUstream stream),
                    return copy_ends(to, {from, at, bytes}, bytes, stream, per_thread, CopyForm::asynchronous);)
