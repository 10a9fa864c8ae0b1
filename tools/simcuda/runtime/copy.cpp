#include "tools/simcuda/runtime/runtime.hpp"

#include <vector>

using namespace simcuda::runtime;

extern "C" cudaError_t CUDARTAPI cudaMemcpy(void* target, const void* source, size_t bytes,
                                            cudaMemcpyKind kind) {
    return with_driver([&](const Driver& real) {
        switch (kind) {
        case cudaMemcpyHostToDevice:
            return real.copy_to_device(address(target), source, bytes);
        case cudaMemcpyDeviceToHost:
            return real.copy_to_host(target, address(source), bytes);
        case cudaMemcpyDeviceToDevice:
            return real.copy_on_device(address(target), address(source), bytes);
        case cudaMemcpyHostToHost:
        case cudaMemcpyDefault:
            return real.copy(address(target), address(source), bytes);
        }
        return CUDA_ERROR_INVALID_VALUE;
    });
}

extern "C" cudaError_t CUDARTAPI cudaMemcpyAsync(void* target, const void* source, size_t bytes,
                                                 cudaMemcpyKind kind, cudaStream_t stream) {
    return with_driver([&](const Driver& real) {
        switch (kind) {
        case cudaMemcpyHostToDevice:
            return real.copy_to_device_async(address(target), source, bytes, stream);
        case cudaMemcpyDeviceToHost:
            return real.copy_to_host_async(target, address(source), bytes, stream);
        case cudaMemcpyDeviceToDevice:
            return real.copy_on_device_async(address(target), address(source), bytes, stream);
        case cudaMemcpyHostToHost:
        case cudaMemcpyDefault:
            return real.copy_async(address(target), address(source), bytes, stream);
        }
        return CUDA_ERROR_INVALID_VALUE;
    });
}

namespace {

/// A host end is named as such; of the others the driver decides by the address.
CUDA_MEMCPY2D rows_of(void* target, size_t target_pitch, const void* source, size_t source_pitch, size_t width,
                      size_t height, cudaMemcpyKind kind) {
    CUDA_MEMCPY2D rows{};
    const bool from_host = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost;
    const bool to_host = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost;
    rows.srcMemoryType = from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_UNIFIED;
    rows.srcHost = source;
    rows.srcDevice = address(source);
    rows.srcPitch = source_pitch;
    rows.dstMemoryType = to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_UNIFIED;
    rows.dstHost = target;
    rows.dstDevice = address(target);
    rows.dstPitch = target_pitch;
    rows.WidthInBytes = width;
    rows.Height = height;
    return rows;
}

} // namespace

extern "C" cudaError_t CUDARTAPI cudaMemcpy2D(void* target, size_t target_pitch, const void* source,
                                              size_t source_pitch, size_t width, size_t height,
                                              cudaMemcpyKind kind) {
    return with_driver([&](const Driver& real) {
        const CUDA_MEMCPY2D rows = rows_of(target, target_pitch, source, source_pitch, width, height, kind);
        return real.copy_rows(&rows);
    });
}

extern "C" cudaError_t CUDARTAPI cudaMemcpy2DAsync(void* target, size_t target_pitch, const void* source,
                                                   size_t source_pitch, size_t width, size_t height,
                                                   cudaMemcpyKind kind, cudaStream_t stream) {
    return with_driver([&](const Driver& real) {
        const CUDA_MEMCPY2D rows = rows_of(target, target_pitch, source, source_pitch, width, height, kind);
        return real.copy_rows_async(&rows, stream);
    });
}

extern "C" cudaError_t CUDARTAPI cudaMemset(void* pointer, int value, size_t bytes) {
    return with_driver([&](const Driver& real) {
        return real.set(address(pointer), static_cast<unsigned char>(value), bytes);
    });
}

extern "C" cudaError_t CUDARTAPI cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
    return with_driver([&](const Driver& real) {
        return real.set_async(address(pointer), static_cast<unsigned char>(value), bytes, stream);
    });
}

extern "C" cudaError_t CUDARTAPI cudaMemcpyBatchAsync(void* const* targets, const void* const* sources,
                                                      const size_t* sizes, size_t count,
                                                      cudaMemcpyAttributes* attributes, size_t* first,
                                                      size_t attribute_count, cudaStream_t stream) {
    return with_driver([&](const Driver& real) {
        std::vector<CUdeviceptr> to, from;
        for (size_t i = 0; i < count; ++i) {
            to.push_back(address(targets[i]));
            from.push_back(address(sources[i]));
        }
        std::vector<size_t> bytes(sizes, sizes + count);
        std::vector<CUmemcpyAttributes> same(attribute_count);
        for (size_t i = 0; i < attribute_count; ++i)
            same[i].srcAccessOrder = static_cast<CUmemcpySrcAccessOrder>(attributes[i].srcAccessOrder);
        return real.copy_batch ? real.copy_batch(to.data(), from.data(), bytes.data(), count, same.data(),
                                                 first, attribute_count, stream)
                               : CUDA_ERROR_NOT_SUPPORTED;
    });
}
