/// Where the program allocates.
#pragma once

#include "trace/values.hpp"

#include <compare>
#include <cstdint>

namespace umadvisor::ids {

/// A call site and what it allocates; `symbol` is that of a variable, which no call allocates.
struct AllocationSite {
    std::uint64_t stack = 0, entry = 0, symbol = 0;
    trace::Memory memory{};
    trace::Origin origin{};
    auto operator<=>(const AllocationSite&) const = default;
};

} // namespace umadvisor::ids
