/// Which allocations a launch may reach.
#pragma once

#include "interposer/observe/allocations.hpp"
#include "interposer/observe/functions.hpp"
#include "interposer/record/launch_memo.hpp"
#include "trace/types.hpp"

namespace umadvisor::observe {

/// Left uninitialised beyond the counts: it stands on the stack of every launch.
struct Touched {
    static constexpr std::uint32_t max_managed = 64;

    trace::Numbers<trace::max_touched> ids; ///< without repetition, in the order of the parameters
    std::uint64_t untold = 0;               ///< further hits that found `ids` full
    bool scanned = false;                   ///< the parameters were looked at
    std::uint32_t managed_count = 0;
    Allocation managed[max_managed]; ///< those of `ids` that are managed
};

/// Looks at each 8-byte word of each parameter (structures given by value word by word) for addresses inside
/// known allocations, and adds the managed variables that the kernel may reach without a parameter: those of
/// its module, or every managed variable where its module is not known. `parameters` and `extra` as for
/// cuLaunchKernel; never reads beyond a parameter's size. Thread-safe, lock-free but for managed variables.
void scan(const Function& function, void** parameters, void** extra, Touched& out) noexcept;

/// Adds to `key` all that scan() goes by: the words it looks at and the generation of the index. False: more
/// than fits, or a launch that scan() treats apart; `key` is of no use then.
bool add_to_key(const Function& function, void** parameters, record::LaunchKey& key) noexcept;

} // namespace umadvisor::observe
