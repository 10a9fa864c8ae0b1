// Libraries, modules, kernels and their variables. An image is tools/simcuda/image.hpp's.
#include "tools/simcuda/driver/managed.hpp"

#include <cstring>

using namespace simcuda;

namespace {

CUresult load(CUlibrary* library, const void* code) {
    const auto* image = static_cast<const Image*>(code);
    if (!library || !image) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (image->magic != image_magic) {
        return CUDA_ERROR_INVALID_IMAGE;
    }
    const Guard guard(driver().mutex);
    auto* made = new CUlib_st;
    made->module.library = made;
    made->image = const_cast<Image*>(image);
    driver().libraries.insert(made);
    *library = made;
    return CUDA_SUCCESS;
}

/// The caller holds the mutex.
CUkern_st* find_kernel(CUlib_st& library, const char* name) {
    if (const auto found = library.kernels.find(name); found != library.kernels.end()) {
        return found->second.get();
    }
    for (const KernelEntry* entry = library.image->kernels; entry; entry = entry->next) {
        if (std::strcmp(entry->name, name) == 0) {
            auto made = std::make_unique<CUkern_st>();
            made->library = &library;
            made->entry = entry;
            made->function.kernel = made.get();
            driver().kernels.insert(made.get());
            driver().functions.insert(&made->function);
            return library.kernels.emplace(name, std::move(made)).first->second.get();
        }
    }
    return nullptr;
}

/// A variable becomes managed memory when it is first asked for. The caller holds the mutex.
CUresult find_variable(CUlib_st& library, const char* name, CUdeviceptr* address, std::size_t* bytes) {
    for (const VariableEntry* entry = library.image->variables; entry; entry = entry->next) {
        if (std::strcmp(entry->name, name) != 0) {
            continue;
        }
        CUdeviceptr& at = library.variables[name];
        if (at == 0) {
            if (const CUresult failed = allocate_managed(&at, entry->bytes, CU_MEM_ATTACH_GLOBAL)) {
                library.variables.erase(name);
                return failed;
            }
            if (entry->initial) {
                std::memcpy(driver().arena.view(at), entry->initial, entry->bytes);
            }
        }
        if (address) {
            *address = at;
        }
        if (bytes) {
            *bytes = entry->bytes;
        }
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
}

CUresult unload(CUlib_st* library) {
    Driver& state = driver();
    const Guard guard(state.mutex);
    if (state.libraries.erase(library) == 0) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    for (const auto& [name, kernel] : library->kernels) {
        state.kernels.erase(kernel.get());
        state.functions.erase(&kernel->function);
    }
    for (const auto& [name, address] : library->variables) {
        const auto found = state.allocations.find(address);
        if (found != state.allocations.end()) {
            release_managed(found->second);
            state.allocations.erase(found);
        }
    }
    state.epoch.fetch_add(1);
    delete library;
    return CUDA_SUCCESS;
}

CUlib_st* library_of(CUmodule module) {
    return module && driver().libraries.contains(module->library) ? module->library : nullptr;
}

CUresult load_module(CUmodule* module, const void* image) {
    CUlibrary library = nullptr;
    const CUresult failed = load(&library, image);
    if (failed == CUDA_SUCCESS) {
        *module = &library->module;
    }
    return failed;
}

CUresult parameter(const CUkern_st& kernel, std::size_t index, std::size_t* offset, std::size_t* bytes) {
    if (index >= kernel.entry->parameter_count) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *offset = kernel.entry->parameter_offsets[index];
    if (bytes) {
        *bytes = kernel.entry->parameter_sizes[index];
    }
    return CUDA_SUCCESS;
}

bool is_kernel(CUkernel kernel) {
    return driver().kernels.contains(kernel);
}
bool is_function(CUfunction function) {
    return driver().functions.contains(function);
}

} // namespace

extern "C" CUresult CUDAAPI cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**,
                                              unsigned, CUlibraryOption*, void**, unsigned) {
    SIMCUDA_ENTER(Entry::cuLibraryLoadData, Needs::initialization)
    return load(library, code);
}

extern "C" CUresult CUDAAPI cuLibraryUnload(CUlibrary library) {
    SIMCUDA_ENTER(Entry::cuLibraryUnload, Needs::initialization)
    return unload(library);
}

extern "C" CUresult CUDAAPI cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
    SIMCUDA_ENTER(Entry::cuLibraryGetKernel, Needs::initialization)
    const Guard guard(driver().mutex);
    if (!driver().libraries.contains(library)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *kernel = find_kernel(*library, name);
    return *kernel ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

extern "C" CUresult CUDAAPI cuLibraryGetModule(CUmodule* module, CUlibrary library) {
    SIMCUDA_ENTER(Entry::cuLibraryGetModule)
    const Guard guard(driver().mutex);
    if (!driver().libraries.contains(library)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *module = &library->module;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuLibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary library,
                                                const char* name) {
    SIMCUDA_ENTER(Entry::cuLibraryGetManaged)
    const Guard guard(driver().mutex);
    return driver().libraries.contains(library) ? find_variable(*library, name, address, bytes)
                                                : CUDA_ERROR_INVALID_HANDLE;
}

extern "C" CUresult CUDAAPI cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library,
                                               const char* name) {
    SIMCUDA_ENTER(Entry::cuLibraryGetGlobal)
    const Guard guard(driver().mutex);
    return driver().libraries.contains(library) ? find_variable(*library, name, address, bytes)
                                                : CUDA_ERROR_INVALID_HANDLE;
}

extern "C" CUresult CUDAAPI cuModuleLoadData(CUmodule* module, const void* image) {
    SIMCUDA_ENTER(Entry::cuModuleLoadData)
    return load_module(module, image);
}

extern "C" CUresult CUDAAPI cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*,
                                               void**) {
    SIMCUDA_ENTER(Entry::cuModuleLoadDataEx)
    return load_module(module, image);
}

extern "C" CUresult CUDAAPI cuModuleLoadFatBinary(CUmodule* module, const void* image) {
    SIMCUDA_ENTER(Entry::cuModuleLoadFatBinary)
    return load_module(module, image);
}

extern "C" CUresult CUDAAPI cuModuleUnload(CUmodule module) {
    SIMCUDA_ENTER(Entry::cuModuleUnload)
    return module ? unload(module->library) : CUDA_ERROR_INVALID_HANDLE;
}

extern "C" CUresult CUDAAPI cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    SIMCUDA_ENTER(Entry::cuModuleGetFunction)
    const Guard guard(driver().mutex);
    CUlib_st* library = library_of(module);
    if (!library) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    CUkern_st* kernel = find_kernel(*library, name);
    *function = kernel ? &kernel->function : nullptr;
    return kernel ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

extern "C" CUresult CUDAAPI cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule module,
                                                 const char* name) {
    SIMCUDA_ENTER(Entry::cuModuleGetGlobal_v2)
    const Guard guard(driver().mutex);
    CUlib_st* library = library_of(module);
    return library ? find_variable(*library, name, address, bytes) : CUDA_ERROR_INVALID_HANDLE;
}

extern "C" CUresult CUDAAPI cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
    SIMCUDA_ENTER(Entry::cuModuleGetLoadingMode, Needs::initialization)
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
    SIMCUDA_ENTER(Entry::cuKernelGetFunction)
    const Guard guard(driver().mutex);
    if (!is_kernel(kernel)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *function = &kernel->function;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuKernelGetLibrary(CUlibrary* library, CUkernel kernel) {
    SIMCUDA_ENTER(Entry::cuKernelGetLibrary, Needs::initialization)
    const Guard guard(driver().mutex);
    if (!is_kernel(kernel)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *library = kernel->library;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuKernelGetName(const char** name, CUkernel kernel) {
    SIMCUDA_ENTER(Entry::cuKernelGetName, Needs::initialization)
    const Guard guard(driver().mutex);
    if (!is_kernel(kernel)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *name = kernel->entry->name;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* bytes) {
    SIMCUDA_ENTER(Entry::cuKernelGetParamInfo, Needs::initialization)
    const Guard guard(driver().mutex);
    return is_kernel(kernel) ? parameter(*kernel, index, offset, bytes) : CUDA_ERROR_INVALID_HANDLE;
}

extern "C" CUresult CUDAAPI cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset,
                                               size_t* bytes) {
    SIMCUDA_ENTER(Entry::cuFuncGetParamInfo)
    const Guard guard(driver().mutex);
    return is_function(function) ? parameter(*function->kernel, index, offset, bytes)
                                 : CUDA_ERROR_INVALID_HANDLE;
}

extern "C" CUresult CUDAAPI cuFuncGetName(const char** name, CUfunction function) {
    SIMCUDA_ENTER(Entry::cuFuncGetName)
    const Guard guard(driver().mutex);
    if (!is_function(function)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *name = function->kernel->entry->name;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuFuncGetModule(CUmodule* module, CUfunction function) {
    SIMCUDA_ENTER(Entry::cuFuncGetModule)
    const Guard guard(driver().mutex);
    if (!is_function(function)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *module = &function->kernel->library->module;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuFuncGetAttribute(int* value, CUfunction_attribute attribute,
                                               CUfunction function) {
    SIMCUDA_ENTER(Entry::cuFuncGetAttribute)
    const Guard guard(driver().mutex);
    if (!is_function(function)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024
             : attribute == CU_FUNC_ATTRIBUTE_NUM_REGS            ? 32
                                                                  : 0;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuFuncLoad(CUfunction function) {
    SIMCUDA_ENTER(Entry::cuFuncLoad)
    const Guard guard(driver().mutex);
    return is_function(function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
