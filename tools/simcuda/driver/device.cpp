// Devices, start-up and shut-down.
#include "tools/simcuda/driver/device.hpp"
#include "tools/simcuda/driver/driver.hpp"
#include "tools/simcuda/driver/managed.hpp"
#include "tools/simcuda/driver/report.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

namespace simcuda {

namespace {

// The real driver answers CUDA_ERROR_DEINITIALIZED from here on.
void finish() {
    Driver& state = driver();
    if (state.forked) {
        return;
    }
    const Guard guard(state.mutex);
    state.finished = true;
    write_report(state);
}

int device_attribute(CUdevice_attribute attribute, CUdevice device) {
    const Config& config = driver().config;
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
        return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
        return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
        return 0x7fffffff;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
        return 65535;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
        return 32;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
        return 48 << 10;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        return 132;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
        return 2048;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
        return 1980000;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
        return 3201000;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
        return 6144;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
        return 60 << 20;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        return 9;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        return 0;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
        return 3;
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED:
        return 1;
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
        return config.concurrent_managed_access ? 1 : 0;
    case CU_DEVICE_ATTRIBUTE_INTEGRATED:
        return config.is_one_pool() ? 1 : 0;
    case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
        return config.reaches_pageable() ? 1 : 0;
    case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES:
    case CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST:
        return config.is_coherent() ? 1 : 0;
    case CU_DEVICE_ATTRIBUTE_NUMA_CONFIG:
        return config.sharing == Sharing::coherent_numa ? CU_DEVICE_NUMA_CONFIG_NUMA_NODE
                                                        : CU_DEVICE_NUMA_CONFIG_NONE;
    case CU_DEVICE_ATTRIBUTE_NUMA_ID:
        return config.host_nodes + device;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
        return 1;
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID:
        return config.node_of(device);
    default:
        return 0;
    }
}

bool is_device(CUdevice device) {
    return device >= 0 && device < static_cast<int>(driver().devices.size());
}

} // namespace

} // namespace simcuda

using namespace simcuda;

extern "C" CUresult CUDAAPI cuInit(unsigned flags) {
    SIMCUDA_ENTER(Entry::cuInit, Needs::nothing)
    Driver& state = driver();
    if (flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (state.forked) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    const Guard guard(state.mutex);
    if (state.finished) {
        return CUDA_ERROR_DEINITIALIZED;
    }
    if (state.initialized) {
        return CUDA_SUCCESS;
    }
    if (!state.arena.reserve()) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    constexpr std::size_t table_bytes = Arena::bytes() / residency::granule_bytes * 2 * sizeof *state.touched;
    void* table =
        mmap(nullptr, table_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (table == MAP_FAILED) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    state.touched = static_cast<std::atomic<std::uint64_t>*>(table);
    const std::uint64_t first = state.arena.device_begin();
    state.device_addresses = std::make_unique<AddressPool>(
        first, state.config.contiguous ? first + state.config.capacity : state.arena.managed_begin());
    state.managed_addresses = std::make_unique<AddressPool>(state.arena.managed_begin(), state.arena.end());
    state.memory =
        std::make_unique<residency::AddressSpace>(state.prices, state.config.parameters, model_observer());
    state.devices.resize(static_cast<std::size_t>(state.config.devices));
    for (int ordinal = 0; ordinal < state.config.devices; ++ordinal) {
        CUctx_st& primary = state.devices[static_cast<std::size_t>(ordinal)].primary;
        primary.device = ordinal;
        primary.primary = true;
        primary.id = ++state.ids;
        state.memory->set_capacity(residency::device_processor(static_cast<unsigned>(ordinal)),
                                   state.config.capacity);
    }
    std::atexit(finish);
    state.initialized = true;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuDriverGetVersion(int* version) {
    SIMCUDA_ENTER(Entry::cuDriverGetVersion, Needs::nothing)
    if (!version) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *version = driver().config.driver_version;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuDeviceGetCount(int* count) {
    SIMCUDA_ENTER(Entry::cuDeviceGetCount, Needs::initialization)
    *count = driver().config.devices;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuDeviceGet(CUdevice* device, int ordinal) {
    SIMCUDA_ENTER(Entry::cuDeviceGet, Needs::initialization)
    if (!is_device(ordinal)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *device = ordinal;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuDeviceGetName(char* name, int length, CUdevice device) {
    SIMCUDA_ENTER(Entry::cuDeviceGetName, Needs::initialization)
    if (!is_device(device) || length <= 0) {
        return is_device(device) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE;
    }
    const Config& config = driver().config;
    std::strncpy(name,
                 config.is_one_pool()   ? "simcuda GB10 model"
                 : config.is_coherent() ? "simcuda GH200 model"
                                        : "simcuda H200 model",
                 static_cast<std::size_t>(length) - 1);
    name[length - 1] = 0;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
    SIMCUDA_ENTER(Entry::cuDeviceGetAttribute, Needs::initialization)
    if (!is_device(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *value = device_attribute(attribute, device);
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
    SIMCUDA_ENTER(Entry::cuDeviceTotalMem_v2, Needs::initialization)
    if (!is_device(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *bytes = driver().config.capacity;
    return CUDA_SUCCESS;
}

std::array<std::uint8_t, 16> simcuda::device_uuid(int device) {
    std::array<std::uint8_t, 16> bytes{};
    std::memcpy(bytes.data(), "simcuda-device-", 15);
    bytes[15] = static_cast<std::uint8_t>('0' + device);
    return bytes;
}

namespace {
CUresult answer_uuid(CUuuid* uuid, CUdevice device) {
    if (!is_device(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    const auto bytes = device_uuid(device);
    std::memcpy(uuid->bytes, bytes.data(), bytes.size());
    return CUDA_SUCCESS;
}
} // namespace

extern "C" CUresult CUDAAPI cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
    SIMCUDA_ENTER(Entry::cuDeviceGetUuid, Needs::initialization)
    return answer_uuid(uuid, device);
}

extern "C" CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
    SIMCUDA_ENTER(Entry::cuDeviceGetUuid_v2, Needs::initialization)
    return answer_uuid(uuid, device);
}

extern "C" CUresult CUDAAPI cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
    SIMCUDA_ENTER(Entry::cuDeviceGetPCIBusId, Needs::initialization)
    if (!is_device(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    std::snprintf(text, static_cast<std::size_t>(length), "0000:%02x:00.0", device + 1);
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuProfilerStart(void) {
    SIMCUDA_ENTER(Entry::cuProfilerStart)
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuProfilerStop(void) {
    SIMCUDA_ENTER(Entry::cuProfilerStop)
    return CUDA_SUCCESS;
}
