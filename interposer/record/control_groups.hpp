/// Limits of the process's control groups (cgroups(7), version 1 or 2) and of the groups above them: the
/// smallest counts. Files are read below `root`. All functions call open(2), a cancellation point.
#pragma once

#include <cstdint>

namespace umadvisor::record {

constexpr std::uint64_t no_limit = UINT64_MAX;

/// Bytes of memory that the process and those beside it may have.
std::uint64_t memory_limit_by_groups(const char* root = "") noexcept;

/// Bytes of memory that may still be allocated.
std::uint64_t memory_left_by_groups(const char* root = "") noexcept;

/// Cores that the process may keep busy, rounded down, 1 at the least.
std::uint64_t cores_of_groups(const char* root = "") noexcept;

} // namespace umadvisor::record
