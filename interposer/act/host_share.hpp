/// How much of the host's memory the program may be given in the card's stead.
#pragma once

#include <cstdint>

namespace umadvisor::act {

/// Bytes that the host has to spare: MemAvailable, or what the process's control groups (cgroups(7), version 1
/// or 2) leave it, if less. Files are looked for below `root`. Calls open(2), a cancellation point.
std::uint64_t free_host_memory(const char* root = "") noexcept;

/// Half of what the host had to spare when this was first asked.
std::uint64_t host_share() noexcept;

} // namespace umadvisor::act
