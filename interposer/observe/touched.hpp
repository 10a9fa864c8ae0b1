/// Which allocations a launch may reach.
#pragma once

#include "interposer/observe/allocations.hpp"
#include "interposer/observe/functions.hpp"
#include "interposer/record/launch_memo.hpp"
#include "interposer/record/piece_memo.hpp"
#include "trace/types.hpp"

namespace umadvisor::observe {

/// Uninitialised beyond the counts, since every launch has one on its stack.
struct Touched {
    static constexpr std::uint32_t max_managed = 64;

    trace::Numbers<trace::max_touched, trace::AllocationId>
        ids;                     ///< without repetition, in the order of the parameters
    std::uint64_t omitted = 0;   ///< further hits that found `ids` full
    bool scanned = false;        ///< the parameters were looked at
    bool holds_pointers = false; ///< one of `ids` does
    trace::Numbers<trace::max_reached_ranges> host_ranges; ///< pageable memory that kernels may reach
    std::uint32_t managed_count = 0;
    Allocation managed[max_managed]; ///< those of `ids` that are managed, except those kept on the device
};

/// From now on scan() looks for pageable memory, too: kernels of this machine reach it. Thread-safe.
void look_for_pageable_memory() noexcept;
bool looks_for_pageable_memory() noexcept;

/// Looks at each 8-byte word of each parameter (structures given by value word by word) for addresses inside
/// known allocations, and adds the managed variables that the kernel may reach without a parameter: those of
/// its module, or every managed variable where its module is not known. `parameters` and `extra` as for
/// cuLaunchKernel; never reads beyond a parameter's size. Thread-safe, lock-free but for managed variables.
void scan(const Function& function, void** parameters, void** extra, Touched& out) noexcept;

/// The rest of add_to_key(), for functions of many words.
record::LaunchKey with_all_words(const Function& function, void** parameters, AllocationIndex::Extent extent,
                                 record::PieceMemo* memo, record::LaunchKey key) noexcept;

/// Adds to `key` all that the result of scan() depends on within one generation of the index: the words that it
/// reads. Words that can be no addresses count as zero, so that launches which differ in numbers only have the
/// same key. False for a launch that scan() treats specially; `key` is of no use then. `key` must have room for
/// 25 words beside those of the caller. `memo`: the calling thread's, or null.
[[gnu::always_inline]] inline bool add_to_key(const Function& function, void** parameters,
                                              record::PieceMemo* memo, record::LaunchKey& key) noexcept {
    const AllocationIndex::Extent extent = allocations().extent();
    key.add(reinterpret_cast<std::uint64_t>(&function)); // not its id, since the module may have changed
    if (!function.usual || parameters == nullptr) [[unlikely]] {
        if (!function.layout_known || (parameters == nullptr && function.parameters != 0))
            return false;
        key = with_all_words(function, parameters, extent, memo, key);
        return true;
    }
    const Function::Word* at = function.words;
    for (unsigned groups = function.groups; groups != 0; --groups)
#pragma GCC unroll 4
        for (std::size_t i = 0; i < Function::group; ++i, ++at) {
            const char* const value = static_cast<const char*>(parameters[at->parameter]);
            std::uint64_t word = 0;
            if (value != nullptr) [[likely]]
                __builtin_memcpy(&word, value + at->offset,
                                 sizeof word); // a launch need not align its values
            key.add(extent.only(word));
        }
    return true;
}

} // namespace umadvisor::observe
