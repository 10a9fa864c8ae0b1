/// What pageable host memory is: heap, stack, file, program image, ... (proc(5), /proc/pid/maps).
#pragma once

#include "trace/values.hpp"

#include <cstdint>
#include <string_view>

namespace umadvisor::observe {

struct HostRange {
    std::uint64_t id; ///< of its HostRange record
    std::uint64_t first, last;
};

/// The range that holds `address`; defines its record at first sight. False where it is not known: no such
/// mapping, or the maps were read too often lately (they are re-read within 1% of the run time, after a first
/// allowance). What is known is looked at again after a while, since mappings come and go unseen. Thread-safe.
bool host_range_of(std::uint64_t address, HostRange& out) noexcept;

/// Nanoseconds of the first allowance; tests give none or much.
void set_host_range_allowance(std::uint64_t nanoseconds) noexcept;

/// One line of /proc/self/maps.
struct Mapping {
    std::uint64_t first, last;
    bool readable, writable, shared;
    std::string_view path; ///< or the kernel's name in brackets; empty for anonymous memory
};

/// Takes a line (without its newline) apart; `path` points into it. False when it is not of that form.
bool parse_mapping(std::string_view line, Mapping& out) noexcept;

} // namespace umadvisor::observe
