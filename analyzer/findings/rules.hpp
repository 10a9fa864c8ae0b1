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
    Rule{"UMA-106", "repeated-upload", "the same bytes uploaded again"},
    Rule{"UMA-107", "round-trip", "downloaded and uploaded again unchanged"},
    Rule{"UMA-108", "constant-upload", "uploads of one value"},
    Rule{"UMA-109", "serial-copies", "copies and kernels in series that could overlap"},
    Rule{"UMA-110", "default-stream", "the default stream keeps other streams waiting"},
    Rule{"UMA-111", "through-host", "device memory copied by way of the host"},
    Rule{"UMA-112", "scalar-download", "a scalar read back in every round"},
    Rule{"UMA-113", "far-node", "page-locked memory on another NUMA node than the device's"},
    Rule{"UMA-114", "same-source-upload", "the same host bytes uploaded to memory that has changed"},
    Rule{"UMA-115", "same-source-twice", "the same host bytes uploaded to two places"},
    Rule{"UMA-118", "fresh-pages", "downloads into pages that the host has not touched yet"},
    Rule{"UMA-119", "pack-round", "small copies side by side that could be one"},
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
    // Lifetimes.
    Rule{"UMA-301", "idle-memory", "device memory idle at the peak"},
    Rule{"UMA-302", "reusable-memory", "memory allocated anew beside memory that is done with"},
    Rule{"UMA-303", "unused-transfer", "sent to the device and never used"},
    // Allocation.
    Rule{"UMA-401", "allocation-churn", "device memory allocated and freed again and again"},
    Rule{"UMA-402", "never-used", "device memory that nothing ever used"},
    Rule{"UMA-403", "used-once", "device memory held for one moment of use"},
    Rule{"UMA-404", "leaked", "memory that a line makes anew and never frees"},
    Rule{"UMA-405", "oversized", "allocations much larger than what is used of them"},
    Rule{"UMA-406", "pinned-overuse", "page-locked memory that nothing is copied from or to"},
    Rule{"UMA-407", "repeated-registration", "host memory page-locked again and again"},
    Rule{"UMA-408", "fragmentation", "allocations that fail beside free memory"},
    Rule{"UMA-409", "pinned-once", "host memory page-locked for few copies"},
    Rule{"UMA-410", "managed-churn", "managed memory allocated and freed again and again"},
    // Synchronisation.
    Rule{"UMA-501", "redundant-sync", "synchronisations with nothing to wait for"},
    Rule{"UMA-502", "early-sync", "synchronisations before the host's own work"},
    Rule{"UMA-503", "implicit-sync", "calls that wait for the device unasked"},
    Rule{"UMA-504", "polling", "streams or events asked again and again"},
    Rule{"UMA-505", "host-blocked", "host and device take turns"},
    Rule{"UMA-506", "sync-each-launch", "waits for results that the host does not read"},
    // Failures.
    Rule{"UMA-701", "calls-fail", "calls fail"},
};
static_assert(std::ranges::is_sorted(rules, {}, &Rule::id));

/// By its id, which has to exist.
consteval const Rule& rule(std::string_view id) {
    return *std::ranges::find_if(rules, [id](const Rule& each) { return each.id == id; });
}

/// By its id or its name; null: there is none.
constexpr const Rule* find_rule(std::string_view text) {
    const auto* const found =
        std::ranges::find_if(rules, [text](const Rule& each) { return each.id == text || each.name == text; });
    return found == rules.end() ? nullptr : found;
}

} // namespace umadvisor::findings
