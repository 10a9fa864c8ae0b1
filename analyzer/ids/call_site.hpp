/// Where the program makes a call.
#pragma once

#include "analyzer/ids/stack_id.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace umadvisor::ids {

/// A stack, and the entry point that was called there.
struct CallSite {
    StackId stack;
    std::uint64_t entry = 0;

    static CallSite of(const auto& record) { return {StackId::of(record), record.entry}; }
    auto operator<=>(const CallSite&) const = default;
};

} // namespace umadvisor::ids

template <>
struct std::hash<umadvisor::ids::CallSite> {
    std::size_t operator()(const umadvisor::ids::CallSite& site) const {
        return site.stack.packed() * 1021 + site.entry;
    }
};
