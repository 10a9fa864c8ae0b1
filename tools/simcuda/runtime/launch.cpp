// Kernels and managed variables: an image is loaded when the first of its contents is used, as the real runtime
// does.
#include "tools/simcuda/runtime/device_code.hpp"
#include "tools/simcuda/runtime/runtime.hpp"

#include <unordered_map>

using namespace simcuda;
using namespace simcuda::runtime;

namespace {

/// Guards the images' lists and the maps below. Never destroyed: kernels are launched from last destructors
/// too.
struct Loaded {
    std::mutex mutex;
    std::unordered_map<const Image*, CUlibrary> libraries;
    std::unordered_map<const Image*, CUmodule> modules; ///< with a driver older than libraries
    std::unordered_map<const void*, CUfunction> functions;
};

Loaded& loaded() {
    static auto* only = new Loaded;
    return *only;
}

template <class Entry>
void list_once(Entry*& head, Entry* added) {
    for (Entry* entry = head; entry; entry = entry->next) {
        if (entry == added) {
            return;
        }
    }
    added->next = head;
    head = added;
}

CUresult load(const Driver& real, const Image* image) {
    Loaded& state = loaded();
    if (real.library_load) {
        CUlibrary& library = state.libraries[image];
        return library ? CUDA_SUCCESS
                       : real.library_load(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
    }
    CUmodule& module = state.modules[image];
    return module ? CUDA_SUCCESS : real.module_load(&module, image);
}

CUresult find_function(const Driver& real, KernelEntry* entry, CUfunction* function) {
    Loaded& state = loaded();
    const std::lock_guard guard(state.mutex);
    CUfunction& kept = state.functions[entry];
    if (!kept) {
        list_once(entry->image->kernels, entry);
        if (const CUresult failed = load(real, entry->image)) {
            return failed;
        }
        // The runtime launches the kernel handle itself, cast to a function.
        const CUresult failed = real.library_kernel
                                    ? real.library_kernel(reinterpret_cast<CUkernel*>(&kept),
                                                          state.libraries[entry->image], entry->name)
                                    : real.module_function(&kept, state.modules[entry->image], entry->name);
        if (failed != CUDA_SUCCESS) {
            kept = nullptr;
            return failed;
        }
    }
    *function = kept;
    return CUDA_SUCCESS;
}

} // namespace

extern "C" cudaError_t CUDARTAPI cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                                  size_t shared_bytes, cudaStream_t stream) {
    if (!kernel) {
        return remember(cudaErrorInvalidDeviceFunction);
    }
    auto* entry = static_cast<KernelEntry*>(const_cast<void*>(kernel));
    return with_driver([&](const Driver& real) {
        CUfunction function = nullptr;
        if (const CUresult failed = find_function(real, entry, &function)) {
            return failed;
        }
        return real.launch(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                           static_cast<unsigned>(shared_bytes), stream, arguments, nullptr);
    });
}

extern "C" cudaError_t CUDARTAPI cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
    return with_driver([&](const Driver& real) { return real.launch_host(stream, function, data); });
}

extern "C" void* simcudart_managed_address(VariableEntry* entry) {
    CUdeviceptr found = 0;
    with_driver([&](const Driver& real) {
        Loaded& state = loaded();
        const std::lock_guard guard(state.mutex);
        if (const CUresult failed = load(real, entry->image)) {
            return failed;
        }
        return real.library_managed
                   ? real.library_managed(&found, nullptr, state.libraries[entry->image], entry->name)
                   : real.module_global(&found, nullptr, state.modules[entry->image], entry->name);
    });
    return reinterpret_cast<void*>(found);
}

extern "C" void simcudart_list_variable(VariableEntry* entry) {
    Loaded& state = loaded();
    const std::lock_guard guard(state.mutex);
    list_once(entry->image->variables, entry);
}

extern "C" const DeviceInterface* simcudart_device_interface(void) {
    return start() == cudaSuccess ? driver().device : nullptr;
}
