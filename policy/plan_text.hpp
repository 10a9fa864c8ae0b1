/// Reads plans: the JSON that docs/plan.md describes, as far as it concerns the running program.
#pragma once

#include "trace/act_modes.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace umadvisor::policy {

/// What an earlier run learned.
struct Plan {
    static constexpr std::size_t most_returns = 1024, most_sites = 256, most_modes = 16, longest_mode = 31;

    struct Return {
        std::uint64_t key;
        std::uint64_t first, last; ///< bytes from the allocation's start
    };

    char modes[most_modes][longest_mode + 1] = {}; ///< as --act has them, each ending in a zero
    std::size_t mode_count = 0;
    Return returns[most_returns] = {};
    std::size_t return_count = 0;
    /// Keys of stacks, in any order.
    struct Sites {
        std::uint64_t keys[most_sites] = {};
        std::size_t count = 0;
    };
    Sites never_sites[trace::act_mode_count]; ///< calls that a mode leaves alone
    const Sites& never(trace::ActMode mode) const { return never_sites[static_cast<std::size_t>(mode)]; }
    std::uint64_t stage_bytes = 0; ///< of all copies to stage
};

/// Nullptr, or what is wrong with the text; `plan` is of no use then. Unknown members are skipped, and elements
/// beyond the plan's capacity are left out. Allocates nothing.
const char* read_plan(std::string_view text, Plan& plan) noexcept;

} // namespace umadvisor::policy
