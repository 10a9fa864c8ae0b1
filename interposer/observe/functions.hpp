/// Kernels: their names and where their parameters lie.
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

    std::uint64_t id;         ///< of its Function record
    std::uint64_t module;     ///< CUmodule or CUlibrary, as told by note_function or note_kernel; 0: not known
    const Parameter* wide;    ///< parameters of 8 bytes and more
    std::uint32_t parameters; ///< all of them
    std::uint32_t parameter_bytes; ///< of the parameter buffer
    std::uint32_t wide_count;      ///< entries in `wide`
};

namespace detail {

/// What the program's own look-ups told about a handle.
struct ToldFunction {
    std::uint64_t module = 0;
    std::string_view name; ///< kept for good
    bool kernel = false;
};

/// A handle and what it is. Under the lock but for `handle` and `function`.
struct alignas(64) FunctionSlot {
    std::atomic<std::uint64_t> handle; ///< 0: free; written last
    std::atomic<const Function*> function;
    const Function* former; ///< what the handle was before a module went
    std::string_view former_name;
    ToldFunction told;

    bool free() const noexcept { return handle.load(std::memory_order_acquire) == 0; }
    std::uint64_t hash() const noexcept { return base::hash(handle); }
};

/// Roomy, so that nearly all handles have their own place.
extern constinit base::Table<FunctionSlot, base::Searched::by_any_thread, 4> functions;

/// The rest of known_function(), where another handle has the place.
const Function* search_function(std::uint64_t handle) noexcept;

} // namespace detail

/// What is known of a handle without asking; null: nothing yet.
inline const Function* known_function(CUfunction function) noexcept {
    const auto handle = reinterpret_cast<std::uint64_t>(function);
    const detail::FunctionSlot& home = detail::functions.home(base::hash(handle));
    if (home.handle.load(std::memory_order_acquire) != handle) [[unlikely]]
        return detail::search_function(handle);
    return home.function.load(std::memory_order_acquire);
}

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
