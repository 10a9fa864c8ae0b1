/// Kernels: their names and where their parameters lie.
#pragma once

#include "interposer/attach/entries.hpp"

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

    // Read at every launch, and nearly always in the first line of the cache.
    std::uint16_t word_count; ///< in `words`
    bool layout_known;
    bool few_words; ///< `words` holds all of them
    Word words[max_words];

    std::uint64_t id;         ///< of its Function record
    std::uint64_t module;     ///< CUmodule or CUlibrary, as told by note_function or note_kernel; 0: not known
    const Parameter* wide;    ///< parameters of 8 bytes and more
    std::uint32_t parameters; ///< all of them
    std::uint32_t parameter_bytes; ///< of the parameter buffer
    std::uint32_t wide_count;      ///< entries in `wide`
};

namespace detail {

/// Handles and what they are; read without locks. A line of the cache a slot.
struct FunctionTable {
    struct alignas(64) Slot;
    std::size_t capacity; ///< a power of two
    Slot* slots;

    static std::size_t place(std::uint64_t handle) noexcept {
        return static_cast<std::size_t>((handle >> 3) * 0x9e3779b97f4a7c15u >> 32);
    }
};

/// What the program's own look-ups told about a handle.
struct ToldFunction {
    std::uint64_t module = 0;
    std::string_view name; ///< kept for good
    bool kernel = false;
};

/// Under the lock but for `handle` and `function`.
struct alignas(64) FunctionTable::Slot {
    std::atomic<std::uint64_t> handle;
    std::atomic<const Function*> function;
    const Function* former; ///< what the handle was before a module went
    std::string_view former_name;
    ToldFunction told;
};

extern constinit std::atomic<FunctionTable*> function_table;

} // namespace detail

/// What is known of a handle without asking; null: nothing yet.
inline const Function* known_function(CUfunction function) noexcept {
    const auto handle = reinterpret_cast<std::uint64_t>(function);
    const detail::FunctionTable* const table = detail::function_table.load(std::memory_order_acquire);
    if (table == nullptr)
        return nullptr;
    for (std::size_t at = detail::FunctionTable::place(handle);; ++at) {
        const detail::FunctionTable::Slot& slot = table->slots[at & (table->capacity - 1)];
        const std::uint64_t there = slot.handle.load(std::memory_order_acquire);
        if (there == handle)
            return slot.function.load(std::memory_order_acquire);
        if (there == 0)
            return nullptr;
    }
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
