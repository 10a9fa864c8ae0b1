#pragma once

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>
#include <cudaProfiler.h>
#include <cuda_runtime_api.h>

#include "tools/simcuda/image.hpp"

#include <mutex>

namespace simcuda::runtime {

/// The driver's entry points, as cuGetProcAddress gave them; nullptr where the driver has none. This library
/// never links libcuda.
struct Driver {
#define ASK(member, base, version, symbol) decltype(&symbol) member = nullptr;
#include "tools/simcuda/runtime/entry_points.def"
    const DeviceInterface* device = nullptr;
};

/// Loads and initializes the driver at the first call of the process, as the real runtime does; later calls
/// repeat the first answer. Thread-safe.
cudaError_t start();
/// Only after start() has succeeded.
const Driver& driver();

/// start(), and makes the primary context of the thread's device current.
cudaError_t attach();
/// The primary context of a device, made at the first call for it. Only after start() has succeeded.
CUresult primary_context(CUcontext* context, int ordinal);

/// Remembers an error for cudaGetLastError and gives it back.
cudaError_t remember(cudaError_t error);
cudaError_t remember(CUresult error);

/// Runtime and driver errors share their numbers.
inline cudaError_t as_runtime(CUresult error) {
    return static_cast<cudaError_t>(error);
}

/// Runs `call(driver)` with a current context and remembers its error.
template <class Call>
cudaError_t with_driver(Call call) {
    const cudaError_t failed = attach();
    return remember(failed != cudaSuccess ? failed : as_runtime(call(driver())));
}

inline CUdeviceptr address(const void* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

} // namespace simcuda::runtime
