// cuMemcpyBatchAsync and cuMemcpy3DBatchAsync, in the forms of CUDA 12.8 and 13.0, and those of one copy
// (13.2).
#include "tools/simcuda/driver/array.hpp"
#include "tools/simcuda/driver/copy_rows.hpp"

using namespace simcuda;

namespace {

/// "SIZE_MAX if the error doesn't pertain to any specific copy" (CUDA 12.8, cuMemcpyBatchAsync, failIdx).
CUresult fail(std::size_t* at, std::size_t copy, CUresult why) {
    if (at) {
        *at = copy;
    }
    return why;
}

constexpr std::size_t no_copy = ~std::size_t{0};

bool good_order(CUmemcpySrcAccessOrder order) {
    return order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
}

/// "Must not be legacy NULL stream."
bool is_legacy(CUstream stream, bool per_thread) {
    return stream == CU_STREAM_LEGACY || (stream == nullptr && !per_thread);
}

struct Attributes {
    const CUmemcpyAttributes* values;
    const std::size_t* first; ///< copy that each holds from: begins with 0 and ascends
    std::size_t count;

    bool good(std::size_t copies) const {
        if (!values || !first || count == 0 || count > copies || first[0] != 0) {
            return false;
        }
        for (std::size_t k = 0; k < count; ++k) {
            if (!good_order(values[k].srcAccessOrder) || (k > 0 && first[k] <= first[k - 1]) ||
                first[k] >= copies) {
                return false;
            }
        }
        return true;
    }
};

CUresult copy_all(const CUdeviceptr* targets, const CUdeviceptr* sources, const std::size_t* sizes,
                  std::size_t count, const Attributes& attributes, std::size_t* failed, CUstream stream,
                  bool per_thread) {
    if (!targets || !sources || !sizes || count == 0 || !attributes.good(count) ||
        is_legacy(stream, per_thread)) {
        return fail(failed, no_copy, CUDA_ERROR_INVALID_VALUE);
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (const CUresult wrong = copy(targets[i], sources[i], {sizes[i], 1, 1, 0, 0, 0, 0}, stream,
                                        per_thread, CopyForm::asynchronous)) {
            return fail(failed, i, wrong);
        }
    }
    return CUDA_SUCCESS;
}

/// Bytes of an element: the array's where one of both is an array, else 1. 0: no array.
std::uint64_t element_of(const CUDA_MEMCPY3D_BATCH_OP& operation) {
    for (const CUmemcpy3DOperand* operand : {&operation.src, &operation.dst}) {
        if (operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
            const Guard guard(driver().mutex);
            const CUarray_st* array = find_array(operand->op.array.array);
            return array ? array->element : 0;
        }
    }
    return 1;
}

CUresult copy_operation(const CUDA_MEMCPY3D_BATCH_OP& operation, CUstream stream, bool per_thread) {
    const CUextent3D& extent = operation.extent;
    const std::uint64_t element = element_of(operation);
    if (element == 0 || extent.width == 0 || extent.height == 0 || extent.depth == 0 ||
        !good_order(operation.srcAccessOrder)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUDA_MEMCPY3D copy{};
    copy.WidthInBytes = extent.width * element;
    copy.Height = extent.height;
    copy.Depth = extent.depth;
    const auto place = [&](const CUmemcpy3DOperand& operand, CUmemorytype& type, CUdeviceptr& device,
                           CUarray& array, std::size_t& x, std::size_t& y, std::size_t& z, std::size_t& pitch,
                           std::size_t& height) {
        if (operand.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
            type = CU_MEMORYTYPE_ARRAY;
            array = operand.op.array.array;
            x = operand.op.array.offset.x * element;
            y = operand.op.array.offset.y;
            z = operand.op.array.offset.z;
        } else if (operand.type == CU_MEMCPY_OPERAND_TYPE_POINTER) {
            type = CU_MEMORYTYPE_UNIFIED;
            device = operand.op.ptr.ptr;
            pitch = (operand.op.ptr.rowLength ? operand.op.ptr.rowLength : extent.width) * element;
            height = operand.op.ptr.layerHeight ? operand.op.ptr.layerHeight : extent.height;
        }
    };
    place(operation.src, copy.srcMemoryType, copy.srcDevice, copy.srcArray, copy.srcXInBytes, copy.srcY,
          copy.srcZ, copy.srcPitch, copy.srcHeight);
    place(operation.dst, copy.dstMemoryType, copy.dstDevice, copy.dstArray, copy.dstXInBytes, copy.dstY,
          copy.dstZ, copy.dstPitch, copy.dstHeight);
    return copy_rows(copy, stream, per_thread, CopyForm::asynchronous);
}

CUresult copy_all(const CUDA_MEMCPY3D_BATCH_OP* operations, std::size_t count, std::size_t* failed,
                  unsigned long long flags, CUstream stream, bool per_thread) {
    if (!operations || count == 0 || flags != 0 || is_legacy(stream, per_thread)) {
        return fail(failed, no_copy, CUDA_ERROR_INVALID_VALUE);
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (const CUresult wrong = copy_operation(operations[i], stream, per_thread)) {
            return fail(failed, i, wrong);
        }
    }
    return CUDA_SUCCESS;
}

} // namespace

SIMCUDA_STREAM_PAIR(cuMemcpyBatchAsync, _ptsz,
                    (CUdeviceptr * targets, CUdeviceptr* sources, size_t* sizes, size_t count,
                     CUmemcpyAttributes* attributes, size_t* first, size_t attribute_count, size_t* failed,
                     CUstream stream),
                    return copy_all(targets, sources, sizes, count, {attributes, first, attribute_count},
                                    failed, stream, per_thread);)
SIMCUDA_STREAM_PAIR(cuMemcpyBatchAsync_v2, _ptsz,
                    (CUdeviceptr * targets, CUdeviceptr* sources, size_t* sizes, size_t count,
                     CUmemcpyAttributes* attributes, size_t* first, size_t attribute_count, CUstream stream),
                    return copy_all(targets, sources, sizes, count, {attributes, first, attribute_count},
                                    nullptr, stream, per_thread);)
SIMCUDA_STREAM_PAIR(cuMemcpy3DBatchAsync, _ptsz,
                    (size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, size_t* failed, unsigned long long flags,
                     CUstream stream),
                    return copy_all(operations, count, failed, flags, stream, per_thread);)
SIMCUDA_STREAM_PAIR(cuMemcpy3DBatchAsync_v2, _ptsz,
                    (size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, unsigned long long flags,
                     CUstream stream),
                    return copy_all(operations, count, nullptr, flags, stream, per_thread);)

SIMCUDA_STREAM_PAIR(cuMemcpyWithAttributesAsync, _ptsz,
                    (CUdeviceptr target, CUdeviceptr source, size_t bytes, CUmemcpyAttributes* attributes,
                     CUstream stream),
                    return attributes && good_order(attributes->srcAccessOrder)
                               ? copy(target, source, {bytes, 1, 1, 0, 0, 0, 0}, stream, per_thread,
                                      CopyForm::asynchronous)
                               : CUDA_ERROR_INVALID_VALUE;)
SIMCUDA_STREAM_PAIR(cuMemcpy3DWithAttributesAsync, _ptsz,
                    (CUDA_MEMCPY3D_BATCH_OP * operation, unsigned long long flags, CUstream stream),
                    return operation && flags == 0 ? copy_operation(*operation, stream, per_thread)
                                                   : CUDA_ERROR_INVALID_VALUE;)
