/// The catalogue: every rule by its id.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace umadvisor::findings {

/// Its page is docs/rules/ID-NAME.md. An id never changes its meaning, and none is given away twice.
struct Rule {
    std::string_view id, name;
    std::string_view title; ///< of its findings, unless they say more
};

inline constexpr std::array rules{
    // Transfers.
    Rule{"UMA-101", "pageable-copy", "pageable copies"},
    Rule{"UMA-102", "pageable-async", "asynchronous in name only: pageable copies"},
    Rule{"UMA-103", "small-copies", "many small copies"},
    // Unified memory.
    Rule{"UMA-202", "ping-pong", "ping-pong of managed memory between host and device"},
    Rule{"UMA-203", "first-touch", "device first touch by page faults"},
};
static_assert(std::ranges::is_sorted(rules, {}, &Rule::id));

/// By its id, which has to exist.
consteval const Rule& rule(std::string_view id) {
    return *std::ranges::find_if(rules, [id](const Rule& each) { return each.id == id; });
}

} // namespace umadvisor::findings
