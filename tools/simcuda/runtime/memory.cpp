#include "tools/simcuda/runtime/runtime.hpp"

using namespace simcuda::runtime;

extern "C" cudaError_t CUDARTAPI cudaMalloc(void** pointer, size_t bytes) {
    // The runtime answers an empty allocation itself, the driver refuses it.
    if (bytes == 0 && pointer) {
        *pointer = nullptr;
        return remember(attach());
    }
    return with_driver(
        [&](const Driver& real) { return real.allocate(reinterpret_cast<CUdeviceptr*>(pointer), bytes); });
}

extern "C" cudaError_t CUDARTAPI cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
    return with_driver([&](const Driver& real) {
        return real.allocate_pitch(reinterpret_cast<CUdeviceptr*>(pointer), pitch, width, height, 4);
    });
}

extern "C" cudaError_t CUDARTAPI cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
    return with_driver([&](const Driver& real) {
        return real.allocate_managed(reinterpret_cast<CUdeviceptr*>(pointer), bytes, flags);
    });
}

extern "C" cudaError_t CUDARTAPI cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
    return with_driver([&](const Driver& real) {
        return real.allocate_async(reinterpret_cast<CUdeviceptr*>(pointer), bytes, stream);
    });
}

extern "C" cudaError_t CUDARTAPI cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
    return with_driver([&](const Driver& real) {
        CUdevice ordinal = 0;
        const CUresult known = real.device_get(&ordinal, device);
        return known == CUDA_SUCCESS ? real.default_pool(pool, ordinal) : known;
    });
}

extern "C" cudaError_t CUDARTAPI cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute,
                                                         void* value) {
    return with_driver([&](const Driver& real) {
        return real.set_pool_attribute(pool, static_cast<CUmemPool_attribute>(attribute), value);
    });
}

extern "C" cudaError_t CUDARTAPI cudaFree(void* pointer) {
    return with_driver(
        [&](const Driver& real) { return pointer ? real.release(address(pointer)) : CUDA_SUCCESS; });
}

extern "C" cudaError_t CUDARTAPI cudaFreeAsync(void* pointer, cudaStream_t stream) {
    return with_driver([&](const Driver& real) { return real.release_async(address(pointer), stream); });
}

extern "C" cudaError_t CUDARTAPI cudaMallocHost(void** pointer, size_t bytes) {
    return with_driver([&](const Driver& real) { return real.allocate_host(pointer, bytes, 0); });
}

extern "C" cudaError_t CUDARTAPI cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
    return with_driver([&](const Driver& real) { return real.allocate_host(pointer, bytes, flags); });
}

extern "C" cudaError_t CUDARTAPI cudaFreeHost(void* pointer) {
    return with_driver([&](const Driver& real) { return pointer ? real.release_host(pointer) : CUDA_SUCCESS; });
}

extern "C" cudaError_t CUDARTAPI cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
    return with_driver([&](const Driver& real) { return real.register_host(pointer, bytes, flags); });
}

extern "C" cudaError_t CUDARTAPI cudaHostUnregister(void* pointer) {
    return with_driver([&](const Driver& real) { return real.unregister_host(pointer); });
}

extern "C" cudaError_t CUDARTAPI cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
    return with_driver([&](const Driver& real) {
        return real.host_device_pointer(reinterpret_cast<CUdeviceptr*>(device), host, flags);
    });
}

extern "C" cudaError_t CUDARTAPI cudaMemGetInfo(size_t* free, size_t* total) {
    return with_driver([&](const Driver& real) { return real.memory_info(free, total); });
}

extern "C" cudaError_t CUDARTAPI cudaPointerGetAttributes(cudaPointerAttributes* attributes,
                                                          const void* pointer) {
    return with_driver([&](const Driver& real) {
        unsigned type = 0;
        unsigned managed = 0;
        int device = 0;
        CUdeviceptr on_device = 0;
        void* on_host = nullptr;
        CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                       CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                       CU_POINTER_ATTRIBUTE_HOST_POINTER};
        void* data[] = {&type, &managed, &device, &on_device, &on_host};
        const CUresult failed = real.pointer_attributes(5, which, data, address(pointer));
        if (failed == CUDA_SUCCESS) {
            *attributes = {};
            attributes->type = managed                        ? cudaMemoryTypeManaged
                               : type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
                               : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
                                                              : cudaMemoryTypeUnregistered;
            attributes->device = device;
            attributes->devicePointer = reinterpret_cast<void*>(on_device);
            attributes->hostPointer =
                attributes->type == cudaMemoryTypeUnregistered ? const_cast<void*>(pointer) : on_host;
        }
        return failed;
    });
}

namespace {
CUmemLocation as_driver(cudaMemLocation location) {
    CUmemLocation same{};
    same.type = static_cast<CUmemLocationType>(location.type);
    same.id = location.id;
    return same;
}
CUdevice as_ordinal(cudaMemLocation location) {
    return location.type == cudaMemLocationTypeDevice ? location.id : CU_DEVICE_CPU;
}
} // namespace

extern "C" cudaError_t CUDARTAPI cudaMemPrefetchAsync(const void* pointer, size_t bytes,
                                                      cudaMemLocation location, unsigned flags,
                                                      cudaStream_t stream) {
    return with_driver([&](const Driver& real) {
        return real.prefetch ? real.prefetch(address(pointer), bytes, as_driver(location), flags, stream)
                             : real.prefetch_old(address(pointer), bytes, as_ordinal(location), stream);
    });
}

extern "C" cudaError_t CUDARTAPI cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                                               cudaMemLocation location) {
    const auto same = static_cast<CUmem_advise>(advice);
    return with_driver([&](const Driver& real) {
        return real.advise ? real.advise(address(pointer), bytes, same, as_driver(location))
                           : real.advise_old(address(pointer), bytes, same, as_ordinal(location));
    });
}

extern "C" cudaError_t CUDARTAPI cudaMemRangeGetAttribute(void* data, size_t data_bytes,
                                                          cudaMemRangeAttribute which, const void* pointer,
                                                          size_t bytes) {
    return with_driver([&](const Driver& real) {
        return real.range_attribute(data, data_bytes, static_cast<CUmem_range_attribute>(which),
                                    address(pointer), bytes);
    });
}
