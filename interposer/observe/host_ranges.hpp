/// What pageable host memory is: heap, stack, file, program image, ... (proc(5), /proc/pid/maps).
#pragma once

#include "trace/values.hpp"

#include <cstdint>
#include <string_view>

namespace umadvisor::observe {

struct HostRange {
    std::uint64_t id; ///< of its HostRange record
    std::uint64_t first, last;
    trace::HostRangeKind kind;
};

/// The range that holds `address`; the first call for a range defines its record. False if it is not known:
/// there is no such mapping, or reading the maps has used up 1% of the run time and the first allowance. A
/// known range is read again after a while, since mappings change unseen. Thread-safe.
bool host_range_of(std::uint64_t address, HostRange& out) noexcept;

/// Nanoseconds of the first allowance; tests give none or much.
void set_host_range_allowance(std::uint64_t nanoseconds) noexcept;

/// One line of /proc/self/maps.
struct Mapping {
    std::uint64_t first, last;
    bool readable, writable, shared;
    std::string_view path; ///< or the kernel's name in brackets; empty for anonymous memory
};

/// Parses a line without its newline; `path` points into it. False if it has another form.
bool parse_mapping(std::string_view line, Mapping& out) noexcept;

} // namespace umadvisor::observe
