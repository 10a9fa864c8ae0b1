/// Where the program allocates.
#pragma once

#include "analyzer/ids/call_site.hpp"
#include "trace/values.hpp"

#include <compare>
#include <cstdint>

namespace umadvisor::ids {

/// A call site and what it allocates; `symbol` is that of a variable, which no call allocates.
struct AllocationSite : CallSite {
    std::uint64_t symbol = 0;
    trace::Memory memory{};
    trace::Origin origin{};

    static AllocationSite of(const auto& record) {
        return {CallSite::of(record), record.symbol, record.memory, record.origin};
    }
    /// None of a variable: the runtime's start-up code makes it, no line of the program.
    StackId made_at() const { return symbol != 0 ? StackId() : stack; }
    auto operator<=>(const AllocationSite&) const = default;
};

} // namespace umadvisor::ids
