/// Loading and unloading of GPU code, and the names of its kernels.
#pragma once

#include "interposer/wrappers/hook.hpp"

namespace umadvisor::wrappers {

void finish_load(trace::GpuModule& record, std::uint64_t module) noexcept;
/// Forgets the module's kernels and variables before their handles and addresses can be used again.
void begin_unload(trace::GpuModule& record, std::uint64_t module) noexcept;
void finish_unload(trace::GpuModule& record) noexcept;
void note_function(CUfunction function, CUmodule module, const char* name) noexcept;
void note_kernel(CUkernel kernel, CUlibrary library, const char* name) noexcept;

/// Every load call has the new handle as its first argument.
struct load_module : WhilePaused {
    template <Entry E, class Module, class... Arguments>
    static CUresult call(Module* out, Arguments... arguments) noexcept {
        trace::GpuModule record;
        const CUresult result = timed<E>(record, out, arguments...);
        finish_load(record, number(answered(result, out)));
        return result;
    }
};

struct unload_module : WhilePaused {
    template <Entry E, class Module>
    static CUresult call(Module module) noexcept {
        trace::GpuModule record;
        begin_unload(record, number(module));
        const CUresult result = timed<E>(record, module);
        finish_unload(record);
        return result;
    }
};

struct get_function : WhilePaused {
    template <Entry E>
    static CUresult call(CUfunction* out, CUmodule module, const char* name) noexcept {
        const CUresult result = attach::real<E>()(out, module, name);
        if (result == CUDA_SUCCESS && out != nullptr)
            note_function(*out, module, name);
        return result;
    }
};

struct get_kernel : WhilePaused {
    template <Entry E>
    static CUresult call(CUkernel* out, CUlibrary library, const char* name) noexcept {
        const CUresult result = attach::real<E>()(out, library, name);
        if (result == CUDA_SUCCESS && out != nullptr)
            note_kernel(*out, library, name);
        return result;
    }
};

} // namespace umadvisor::wrappers
