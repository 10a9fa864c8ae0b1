/// Where the program makes a call.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace umadvisor::ids {

/// A stack, and the entry point that was called there.
struct CallSite {
    std::uint64_t stack = 0, entry = 0;
    auto operator<=>(const CallSite&) const = default;
};

struct CallSiteHash {
    std::size_t operator()(const CallSite& site) const { return site.stack * 1021 + site.entry; }
};

} // namespace umadvisor::ids
