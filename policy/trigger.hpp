/// UMADVISOR_WHEN and --when: conditions that begin a recording, and how they are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace umadvisor::policy {

/// What a condition is about. Rates are those of the last second.
enum class Metric : std::uint8_t {
    faults,         ///< page faults of managed memory, of host and devices
    moved,          ///< bytes of managed memory that moved between host and devices
    thrashing,      ///< events of thrashing
    host_to_device, ///< bytes that copies moved
    device_to_host,
    pageable,     ///< bytes of copies from or to pageable memory
    waits,        ///< share of the time that threads spent in waits, those of all threads together
    launches,     ///< of kernels and graphs
    device_bytes, ///< memory in use
    managed_bytes,
    pinned_bytes,
    refused, ///< allocations that failed in the last second for want of memory
    step,    ///< the longest NVTX range of a name that ended in the last second
};

enum class Order : std::uint8_t { more, at_least, less, at_most };

/// One of the conditions.
struct Condition {
    static constexpr std::size_t most_name = 63;

    Metric metric{};
    Order order{};
    double limit = 0;         ///< bytes, nanoseconds, or a number of things
    std::uint64_t for_ns = 0; ///< how long it must hold before it counts
    std::string_view text;    ///< as it was written
    std::string_view step;    ///< name of the NVTX range

    bool holds_for(double value) const noexcept;
    /// Whether the metric stands still unless calls are counted.
    bool needs_calls() const noexcept;
};

/// Any one of them begins a recording. The texts are those that parse() was given.
struct Trigger {
    static constexpr std::size_t most = 8;

    Condition conditions[most];
    std::size_t count = 0;

    bool needs_calls() const noexcept;
};

/// The part of a text that is not understood, and what is wrong with it: "foo" and "is no metric; ...".
struct Misread {
    std::string_view part;
    const char* why = ""; ///< static text
};

/// Reads "METRIC OP NUMBER[unit] [for DURATION]", several with ; between. False, with `to` unspecified, if the
/// text is not understood; `misread` has the part then. An empty text has no conditions.
bool parse(std::string_view text, Trigger& to, Misread& misread) noexcept;

} // namespace umadvisor::policy
