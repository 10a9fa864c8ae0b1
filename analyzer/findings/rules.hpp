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
    Rule{"UMA-104", "narrow-rows", "narrow rows copied one by one"},
    Rule{"UMA-105", "managed-copied", "managed memory copied to or from the host"},
    Rule{"UMA-109", "serial-copies", "copies and kernels in series that could overlap"},
    Rule{"UMA-110", "default-stream", "the default stream keeps other streams waiting"},
    Rule{"UMA-111", "through-host", "device memory copied by way of the host"},
    Rule{"UMA-112", "scalar-download", "a scalar read back in every round"},
    // Unified memory.
    Rule{"UMA-201", "thrashing", "host and device thrash managed memory"},
    Rule{"UMA-202", "ping-pong", "ping-pong of managed memory between host and device"},
    Rule{"UMA-203", "first-touch", "device first touch by page faults"},
    Rule{"UMA-204", "host-populate", "managed memory initialised on the host for kernels alone"},
    Rule{"UMA-205", "read-back", "results read back by page faults"},
    Rule{"UMA-206", "false-sharing", "false sharing: managed memory moves for one place in it"},
    Rule{"UMA-207", "read-only-bouncing", "read-only managed memory bounces between host and device"},
    Rule{"UMA-208", "remote-access", "kernels reach managed memory across the link"},
    Rule{"UMA-209", "oversubscribed", "managed memory does not fit on the device"},
    Rule{"UMA-210", "prefetch-ping-pong", "prefetches there and back for nothing"},
    Rule{"UMA-211", "late-prefetch", "prefetch too late: kernels pull the memory over by faults"},
    Rule{"UMA-212", "redundant-prefetch", "prefetches of what is there already"},
    Rule{"UMA-213", "unused-prefetch", "prefetched to the device and never used there"},
    // Allocation.
    Rule{"UMA-401", "allocation-churn", "device memory allocated and freed again and again"},
    // Synchronisation.
    Rule{"UMA-501", "redundant-sync", "synchronisations with nothing to wait for"},
};
static_assert(std::ranges::is_sorted(rules, {}, &Rule::id));

/// By its id, which has to exist.
consteval const Rule& rule(std::string_view id) {
    return *std::ranges::find_if(rules, [id](const Rule& each) { return each.id == id; });
}

} // namespace umadvisor::findings
