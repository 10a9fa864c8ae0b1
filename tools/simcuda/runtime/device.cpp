#include "tools/simcuda/runtime/runtime.hpp"

#include <cstring>

using namespace simcuda::runtime;

extern "C" cudaError_t CUDARTAPI cudaGetDeviceCount(int* count) {
    const cudaError_t failed = start();
    return remember(failed != cudaSuccess ? failed : as_runtime(driver().device_count(count)));
}

extern "C" cudaError_t CUDARTAPI cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    const cudaError_t failed = start();
    return remember(failed != cudaSuccess ? failed
                                          : as_runtime(driver().device_attribute(
                                                value, static_cast<CUdevice_attribute>(attribute), device)));
}

extern "C" cudaError_t CUDARTAPI cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    if (const cudaError_t failed = start(); failed != cudaSuccess) {
        return remember(failed);
    }
    const Driver& real = driver();
    std::memset(properties, 0, sizeof *properties);
    if (const CUresult failed = real.device_name(properties->name, sizeof properties->name, device)) {
        return remember(failed);
    }
    real.device_memory(&properties->totalGlobalMem, device);
    const auto read = [&](CUdevice_attribute attribute) {
        int value = 0;
        real.device_attribute(&value, attribute, device);
        return value;
    };
    properties->major = read(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    properties->minor = read(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    properties->multiProcessorCount = read(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    properties->warpSize = read(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    properties->maxThreadsPerBlock = read(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    properties->maxThreadsPerMultiProcessor = read(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    properties->asyncEngineCount = read(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
    properties->concurrentKernels = read(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS);
    properties->unifiedAddressing = read(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
    properties->managedMemory = read(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
    properties->concurrentManagedAccess = read(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
    properties->pageableMemoryAccess = read(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
    properties->l2CacheSize = read(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    return cudaSuccess;
}

extern "C" cudaError_t CUDARTAPI cudaDriverGetVersion(int* version) {
    if (const cudaError_t failed = start(); failed != cudaSuccess) {
        *version = 0;
        return cudaSuccess;
    }
    return remember(driver().get_version(version));
}

extern "C" cudaError_t CUDARTAPI cudaRuntimeGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

namespace {
/// Errors that only the runtime has, and those to tell without a driver.
const char* own_text(cudaError_t error, bool name) {
    switch (error) {
    case cudaSuccess:
        return name ? "cudaSuccess" : "no error";
    case cudaErrorInsufficientDriver:
        return name ? "cudaErrorInsufficientDriver"
                    : "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorInvalidDeviceFunction:
        return name ? "cudaErrorInvalidDeviceFunction" : "invalid device function";
    case cudaErrorInvalidValue:
        return name ? "cudaErrorInvalidValue" : "invalid argument";
    case cudaErrorMemoryAllocation:
        return name ? "cudaErrorMemoryAllocation" : "out of memory";
    case cudaErrorNotReady:
        return name ? "cudaErrorNotReady" : "device not ready";
    case cudaErrorInvalidDevice:
        return name ? "cudaErrorInvalidDevice" : "invalid device ordinal";
    default:
        return nullptr;
    }
}
} // namespace

extern "C" const char* CUDARTAPI cudaGetErrorName(cudaError_t error) {
    const char* text = own_text(error, true);
    if (!text && start() == cudaSuccess) {
        driver().get_error_name(static_cast<CUresult>(error), &text);
    }
    return text ? text : "unrecognized error code";
}

extern "C" const char* CUDARTAPI cudaGetErrorString(cudaError_t error) {
    const char* text = own_text(error, false);
    if (!text && start() == cudaSuccess) {
        driver().get_error_string(static_cast<CUresult>(error), &text);
    }
    return text ? text : "unrecognized error code";
}

extern "C" cudaError_t CUDARTAPI cudaProfilerStart(void) {
    return with_driver([](const Driver& real) { return real.profiler_start(); });
}

extern "C" cudaError_t CUDARTAPI cudaProfilerStop(void) {
    return with_driver([](const Driver& real) { return real.profiler_stop(); });
}
