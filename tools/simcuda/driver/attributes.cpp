// cuPointerGetAttribute(s).
#include "tools/simcuda/driver/driver.hpp"

using namespace simcuda;

namespace {

/// The driver's answers for memory it does not know: cuPointerGetAttribute fails with INVALID_VALUE,
/// cuPointerGetAttributes succeeds with zeros ("the pointer is not known to CUDA").
CUresult attribute(void* data, CUpointer_attribute which, CUdeviceptr address) {
    const Allocation* found = driver().find(address);
    if (!found) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const bool on_host = found->memory == pinned || found->memory == registered;
    switch (which) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *static_cast<CUcontext*>(data) = found->context;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        // Managed memory reports as device memory here; IS_MANAGED tells it apart.
        *static_cast<unsigned*>(data) = on_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *static_cast<CUdeviceptr*>(data) = address;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (found->memory == device_memory) {
            *static_cast<void**>(data) = nullptr; // release 580
            return CUDA_ERROR_INVALID_VALUE;
        }
        *static_cast<void**>(data) = reinterpret_cast<void*>(address);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *static_cast<unsigned long long*>(data) = found->id;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *static_cast<unsigned*>(data) = found->memory == managed;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *static_cast<int*>(data) = found->device;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *static_cast<unsigned*>(data) = found->memory == device_memory && !found->pooled;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *static_cast<CUdeviceptr*>(data) = found->address;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *static_cast<std::size_t*>(data) = found->bytes;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *static_cast<unsigned*>(data) = 1;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *static_cast<CUmemoryPool*>(data) = found->pool;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

std::size_t attribute_bytes(CUpointer_attribute which) {
    switch (which) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
        return 4;
    default:
        return 8;
    }
}

} // namespace

extern "C" CUresult CUDAAPI cuPointerGetAttribute(void* data, CUpointer_attribute which, CUdeviceptr address) {
    SIMCUDA_ENTER(Entry::cuPointerGetAttribute)
    const Guard guard(driver().mutex);
    return attribute(data, which, address);
}

extern "C" CUresult CUDAAPI cuPointerGetAttributes(unsigned count, CUpointer_attribute* which, void** data,
                                                   CUdeviceptr address) {
    SIMCUDA_ENTER(Entry::cuPointerGetAttributes)
    const Guard guard(driver().mutex);
    for (unsigned index = 0; index < count; ++index) {
        if (attribute(data[index], which[index], address) != CUDA_SUCCESS) {
            __builtin_memset(data[index], 0, attribute_bytes(which[index]));
            if (which[index] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) {
                *static_cast<int*>(data[index]) = CU_DEVICE_INVALID;
            }
        }
    }
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuPointerSetAttribute(const void*, CUpointer_attribute, CUdeviceptr address) {
    SIMCUDA_ENTER(Entry::cuPointerSetAttribute)
    const Guard guard(driver().mutex);
    return driver().find(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
