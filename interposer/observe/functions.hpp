/// Kernels: their names and where their parameters lie.
#pragma once

#include "interposer/attach/entries.hpp"

#include <cstdint>

namespace umadvisor::observe {

/// One kernel parameter that can hold an address: offset in the parameter buffer, size, and its number.
struct Parameter {
    std::uint32_t offset, bytes, index;
};

/// Constant once published; never freed, so a pointer to one stays good.
struct Function {
    std::uint64_t id;     ///< of its Function record
    std::uint64_t module; ///< CUmodule or CUlibrary, as told by note_function or note_kernel; 0: not known
    bool layout_known;
    std::uint32_t parameters;      ///< all of them
    std::uint32_t parameter_bytes; ///< of the parameter buffer
    std::uint32_t wide_count;      ///< entries in `wide`
    const Parameter* wide;         ///< those of 8 bytes and more
};

/// What is known of a launched handle (a CUfunction, or a CUkernel in its place). At first sight the driver is
/// asked (cuFuncGetName 12.3, cuFuncGetParamInfo 12.4, cuKernelGetName, cuKernelGetParamInfo) and the Function
/// record defined; later it is a lock-free look-up. Null only for a null handle and without memory.
/// Thread-safe.
const Function* function_of(CUfunction handle) noexcept;

/// The handle is a CUkernel of that name: asked for by the program.
void note_kernel(CUkernel kernel, CUlibrary library, const char* name) noexcept;
/// The handle is a CUfunction of that name. Names told are used where the driver cannot tell.
void note_function(CUfunction function, CUmodule module, const char* name) noexcept;

/// The module or library goes: handles of its kernels, and of kernels of which no module is known, may come
/// back with another meaning and are looked up anew. One that turns out to be the same keeps its id. 0: modules
/// of a context went, so all kernels are looked up anew.
void forget_module(std::uint64_t module) noexcept;

} // namespace umadvisor::observe
