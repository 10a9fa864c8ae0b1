/// What the process's control groups (cgroups(7), version 1 or 2) grant it, those above them included: the
/// least counts. Files are looked for below `root`. Calls open(2), a cancellation point.
#pragma once

#include <cstdint>

namespace umadvisor::act {

constexpr std::uint64_t no_limit = UINT64_MAX;

/// Bytes of memory that may still be taken.
std::uint64_t memory_left_by_groups(const char* root = "") noexcept;

/// Cores that the process may keep busy, rounded down, 1 at the least.
std::uint64_t cores_of_groups(const char* root = "") noexcept;

} // namespace umadvisor::act
