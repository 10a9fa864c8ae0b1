/// Kernels: their names and the layout of their parameters.
#pragma once

#include "interposer/attach/entries.hpp"
#include "interposer/base/hash.hpp"
#include "interposer/base/table.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace umadvisor::observe {

/// One kernel parameter that can hold an address: offset in the parameter buffer, size, and its number.
struct Parameter {
    std::uint32_t offset, bytes, index;
};

/// Constant once published; never freed, so a pointer to one stays good.
struct alignas(64) Function {
    /// A word of a parameter that can be an address.
    struct Word {
        std::uint16_t parameter, offset;
    };
    static constexpr std::size_t max_words = 24;
    static constexpr std::size_t group = 4; ///< words looked at without a branch

    // Read at every launch, and nearly always in the first line of the cache.
    bool usual; ///< the layout is known, and `words` holds all of them
    bool layout_known;
    std::uint16_t groups; ///< in `words`; the last one is filled up with the first word
    Word words[max_words];

    std::uint64_t id;              ///< of its Function record
    std::uint64_t module;          ///< CUmodule or CUlibrary, from note_function or note_kernel; 0: not known
    const Parameter* wide;         ///< parameters of 8 bytes and more
    std::uint32_t parameters;      ///< all of them
    std::uint32_t parameter_bytes; ///< of the parameter buffer
    std::uint32_t wide_count;      ///< entries in `wide`
};

namespace detail {

/// What is known about a handle from the program's own look-ups.
struct LookedUp {
    std::uint64_t module = 0;
    std::string_view name; ///< kept for good
    bool kernel = false;
};

/// A handle and its function. Under the lock, except `handle` and `function`.
struct alignas(64) FunctionSlot {
    std::atomic<std::uint64_t> handle; ///< 0: free; written last
    std::atomic<const Function*> function;
    const Function* former; ///< the handle's function before a module was unloaded
    std::string_view former_name;
    LookedUp looked_up;

    bool free() const noexcept { return handle.load(std::memory_order_acquire) == 0; }
    std::uint64_t hash() const noexcept { return base::hash(handle); }
};

/// Sparse, so that nearly all handles are in their home slot.
extern constinit base::Table<FunctionSlot, base::Searched::by_any_thread, 4> functions;

/// The rest of known_function(), for a handle that is not in its home slot.
const Function* search_function(std::uint64_t handle) noexcept;

} // namespace detail

/// The function of a handle if it is known without asking the driver; else null.
inline const Function* known_function(CUfunction function) noexcept {
    const auto handle = reinterpret_cast<std::uint64_t>(function);
    const detail::FunctionSlot& home = detail::functions.home(base::hash(handle));
    if (home.handle.load(std::memory_order_acquire) != handle) [[unlikely]]
        return detail::search_function(handle);
    return home.function.load(std::memory_order_acquire);
}

/// The function of a launched handle, which is a CUfunction or a CUkernel cast to one. The first call for a
/// handle asks the driver (cuFuncGetName 12.3, cuFuncGetParamInfo 12.4, cuKernelGetName, cuKernelGetParamInfo)
/// and defines the Function record; later ones look it up without a lock. Null only for a null handle and
/// without memory. Thread-safe.
const Function* function_of(CUfunction handle) noexcept;

/// The program has looked up a CUkernel of that name.
void note_kernel(CUkernel kernel, CUlibrary library, const char* name) noexcept;
/// The program has looked up a CUfunction of that name. The name is used if the driver gives none.
void note_function(CUfunction function, CUmodule module, const char* name) noexcept;

/// The module or library is unloaded: handles of its kernels, and of kernels without a known module, may be
/// used for other kernels and are looked up again. A kernel that turns out to be the same keeps its id. 0: all
/// modules of a context were unloaded, so all kernels are looked up again.
void forget_module(std::uint64_t module) noexcept;

} // namespace umadvisor::observe
