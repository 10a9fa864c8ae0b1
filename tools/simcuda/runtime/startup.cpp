// The start-up sequence of the real runtime, call by call: interposers stand or fall by it.
#include "tools/simcuda/runtime/runtime.hpp"

#include <dlfcn.h>

#include <cstring>
#include <iterator>

namespace simcuda::runtime {

namespace {

using GetProcAddress = decltype(&cuGetProcAddress_v2);
using OldGetProcAddress = decltype(&cuGetProcAddress);

Driver loaded;
thread_local cudaError_t last_error = cudaSuccess;
thread_local int chosen_device = 0;
CUcontext primary_contexts[16];
std::mutex contexts_mutex;

/// Asks for the legacy-stream form of an entry point and, as the real runtime does whatever the program was
/// compiled for, for the per-thread one.
struct Lookup {
    void* library;
    GetProcAddress get;
    OldGetProcAddress get_old;

    void* find(const char* base, int version, const char* symbol) const {
        void* found = nullptr;
        void* per_thread = nullptr;
        if (get) {
            get(base, &found, version, CU_GET_PROC_ADDRESS_DEFAULT, nullptr);
            get(base, &per_thread, version, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, nullptr);
        } else if (get_old) {
            get_old(base, &found, version, CU_GET_PROC_ADDRESS_DEFAULT);
        } else {
            found = dlsym(library, symbol);
        }
        return found;
    }
};

cudaError_t load() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        return cudaErrorInsufficientDriver;
    }
    Lookup lookup{library, reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2")), nullptr};
    if (lookup.get) {
        void* probe = nullptr;
        lookup.get("", &probe, 0, CU_GET_PROC_ADDRESS_DEFAULT, nullptr);
    } else {
        lookup.get_old = reinterpret_cast<OldGetProcAddress>(dlsym(library, "cuGetProcAddress"));
    }
#define ASK(member, base, version, symbol)                                                                     \
    loaded.member = reinterpret_cast<decltype(&symbol)>(lookup.find(#base, version, #symbol));
#include "tools/simcuda/runtime/entry_points.def"
    if (!loaded.init || !loaded.get_version || !loaded.get_export_table) {
        return cudaErrorInsufficientDriver;
    }
    int version = 0;
    if (loaded.get_version(&version) != CUDA_SUCCESS) {
        return cudaErrorInsufficientDriver;
    }
    if (const CUresult failed = loaded.init(0)) {
        return as_runtime(failed);
    }
    CUuuid id;
    std::memcpy(id.bytes, device_interface_uuid, sizeof id.bytes);
    const void* table = nullptr;
    if (loaded.get_export_table(&table, &id) != CUDA_SUCCESS) {
        // Compiled for simcuda's driver alone.
        return cudaErrorIncompatibleDriverContext;
    }
    loaded.device = static_cast<const DeviceInterface*>(table);
    return cudaSuccess;
}

} // namespace

cudaError_t start() {
    static const cudaError_t answer = load();
    return answer;
}

const Driver& driver() {
    return loaded;
}

cudaError_t attach() {
    if (const cudaError_t failed = start(); failed != cudaSuccess) {
        return failed;
    }
    CUcontext current = nullptr;
    if (const CUresult failed = loaded.context_get(&current)) {
        return as_runtime(failed);
    }
    // A context the program made by the driver API is used as it is.
    if (current) {
        return cudaSuccess;
    }
    CUcontext primary = nullptr;
    if (const CUresult failed = primary_context(&primary, chosen_device)) {
        return as_runtime(failed);
    }
    return as_runtime(loaded.context_set(primary));
}

CUresult primary_context(CUcontext* context, int ordinal) {
    if (ordinal < 0 || ordinal >= static_cast<int>(std::size(primary_contexts))) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    const std::lock_guard guard(contexts_mutex);
    CUcontext& kept = primary_contexts[ordinal];
    if (!kept) {
        CUdevice device = 0;
        if (const CUresult failed = loaded.device_get(&device, ordinal)) {
            return failed;
        }
        if (const CUresult failed = loaded.primary_retain(&kept, device)) {
            return failed;
        }
    }
    *context = kept;
    return CUDA_SUCCESS;
}

cudaError_t remember(cudaError_t error) {
    if (error != cudaSuccess && error != cudaErrorNotReady) {
        last_error = error;
    }
    return error;
}

cudaError_t remember(CUresult error) {
    return remember(as_runtime(error));
}

} // namespace simcuda::runtime

using namespace simcuda::runtime;

extern "C" cudaError_t CUDARTAPI cudaGetLastError(void) {
    const cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

extern "C" cudaError_t CUDARTAPI cudaPeekAtLastError(void) {
    return last_error;
}

extern "C" cudaError_t CUDARTAPI cudaGetDevice(int* device) {
    if (const cudaError_t failed = start(); failed != cudaSuccess) {
        return remember(failed);
    }
    *device = chosen_device;
    return cudaSuccess;
}

extern "C" cudaError_t CUDARTAPI cudaSetDevice(int device) {
    int count = 0;
    if (const cudaError_t failed = cudaGetDeviceCount(&count); failed != cudaSuccess) {
        return failed;
    }
    if (device < 0 || device >= count || device >= static_cast<int>(std::size(primary_contexts))) {
        return remember(cudaErrorInvalidDevice);
    }
    chosen_device = device;
    loaded.context_set(nullptr);
    return remember(attach());
}

extern "C" cudaError_t CUDARTAPI cudaDeviceReset(void) {
    if (const cudaError_t failed = start(); failed != cudaSuccess) {
        return remember(failed);
    }
    const std::lock_guard guard(contexts_mutex);
    primary_contexts[chosen_device] = nullptr;
    return remember(loaded.primary_reset(chosen_device));
}
