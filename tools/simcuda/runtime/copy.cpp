#include "tools/simcuda/runtime/runtime.hpp"

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
