#pragma once

/// One source for two machines: with nvcc the names below are plain CUDA, with a host compiler they run on
/// simcuda.
///
///     KERNEL scale(DevicePtr<float> x, int n) {
///         for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
///             x[i] = 2 * x[i];
///         }
///     }
///     LAUNCH(scale, 256, 128, stream, d_x, n);
///
/// On the host, device memory stays a T* (cudaMalloc(&d_x, ...)). Inside kernels copy elements into variables
/// of their own type (`float v = x[i]`, not `auto v`). COMPUTE(n) tells simcuda's clock of n floating-point
/// operations of this thread. MANAGED_VARIABLE and MANAGED_ARRAY make __managed__ variables: used by name on
/// the host, through DEVICE_VIEW(name) in kernels. No shared memory and no __syncthreads: simcuda runs a
/// kernel's threads one after the other.

#ifdef __CUDACC__

#include <cstddef>

template <class T>
using DevicePtr = T*;

#define KERNEL __global__ void
#define LAUNCH(kernel, grid, block, stream, ...) kernel<<<(grid), (block), 0, (stream)>>>(__VA_ARGS__)
#define COMPUTE(operations) ((void)(operations))
#define MANAGED_VARIABLE(type, name) __device__ __managed__ type name
#define MANAGED_ARRAY(type, name, count) __device__ __managed__ type name[count]
#define DEVICE_VIEW(name) simcuda_portable::device_view(name)

namespace simcuda_portable {
template <class T, std::size_t count>
__host__ __device__ T* device_view(T (&array)[count]) {
    return array;
}
template <class T>
__host__ __device__ T* device_view(T& variable) {
    return &variable;
}
} // namespace simcuda_portable

#else

#include <cuda_runtime_api.h>

#include "tools/simcuda/device_pointer.hpp"
#include "tools/simcuda/kernel.hpp"
#include "tools/simcuda/managed_variable.hpp"

#define KERNEL void
#define LAUNCH(kernel, grid, block, stream, ...)                                                               \
    simcuda::launch<&kernel>(#kernel, simcuda::translation_unit, (grid), (block),                              \
                             (stream)__VA_OPT__(, ) __VA_ARGS__)
#define COMPUTE(operations) simcuda::compute(operations)
#define MANAGED_VARIABLE(type, name) simcuda::ManagedVariable<type> name(#name, simcuda::translation_unit)
#define MANAGED_ARRAY(type, name, count)                                                                       \
    simcuda::ManagedArray<type, count> name(#name, simcuda::translation_unit)
#define DEVICE_VIEW(name) (name).device_view()

// The typed forms that cuda_runtime.h adds for nvcc.
template <class T>
cudaError_t cudaMalloc(T** pointer, std::size_t bytes) {
    return cudaMalloc(reinterpret_cast<void**>(pointer), bytes);
}
template <class T>
cudaError_t cudaMallocAsync(T** pointer, std::size_t bytes, cudaStream_t stream) {
    return cudaMallocAsync(reinterpret_cast<void**>(pointer), bytes, stream);
}
template <class T>
cudaError_t cudaMallocManaged(T** pointer, std::size_t bytes, unsigned flags = cudaMemAttachGlobal) {
    return cudaMallocManaged(reinterpret_cast<void**>(pointer), bytes, flags);
}
template <class T>
cudaError_t cudaMallocHost(T** pointer, std::size_t bytes) {
    return cudaMallocHost(reinterpret_cast<void**>(pointer), bytes);
}
template <class T>
cudaError_t cudaHostAlloc(T** pointer, std::size_t bytes, unsigned flags) {
    return cudaHostAlloc(reinterpret_cast<void**>(pointer), bytes, flags);
}

#endif
