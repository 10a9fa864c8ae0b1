/// Which allocations a launch may reach.
#pragma once

#include "interposer/observe/allocations.hpp"
#include "interposer/observe/functions.hpp"
#include "interposer/record/launch_memo.hpp"
#include "interposer/record/piece_memo.hpp"
#include "trace/types.hpp"

namespace umadvisor::observe {

/// Left uninitialised beyond the counts: it stands on the stack of every launch.
struct Touched {
    static constexpr std::uint32_t max_managed = 64;

    trace::Numbers<trace::max_touched> ids; ///< without repetition, in the order of the parameters
    std::uint64_t untold = 0;               ///< further hits that found `ids` full
    bool scanned = false;                   ///< the parameters were looked at
    bool leads_on = false;                  ///< one of `ids` does
    trace::Numbers<trace::max_reached_ranges> host_ranges; ///< pageable memory that kernels may reach
    std::uint32_t managed_count = 0;
    Allocation managed[max_managed]; ///< those of `ids` that are managed, but for what is placed
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

/// Adds to `key` all that scan() goes by while the index stays of one generation: the words it looks at. Words
/// that can be no addresses count as zero, so that launches which differ in numbers only are the same to it.
/// False: a launch that scan() treats apart; `key` is of no use then. `key` has room for what the caller adds
/// to it and 25 words. `memo`: the calling thread's, or null.
[[gnu::always_inline]] inline bool add_to_key(const Function& function, void** parameters,
                                              record::PieceMemo* memo, record::LaunchKey& key) noexcept {
    const AllocationIndex::Extent extent = allocations().extent();
    key.add(reinterpret_cast<std::uint64_t>(&function)); // not its id: the module may be another one now
    if (!function.usual || parameters == nullptr) [[unlikely]] {
        if (!function.layout_known || (parameters == nullptr && function.parameters != 0))
            return false;
        key = with_all_words(function, parameters, extent, memo, key);
        return true;
    }
    const Function::Word* place = function.words;
    for (unsigned groups = function.groups; groups != 0; --groups)
#pragma GCC unroll 4
        for (std::size_t i = 0; i < Function::group; ++i, ++place) {
            const char* const value = static_cast<const char*>(parameters[place->parameter]);
            std::uint64_t word = 0;
            if (value != nullptr) [[likely]]
                __builtin_memcpy(&word, value + place->offset,
                                 sizeof word); // a launch need not align its values
            key.add(extent.only(word));
        }
    return true;
}

} // namespace umadvisor::observe
