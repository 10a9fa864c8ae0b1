/// What the host has for the program: memory, cores, other processes beside it.
#pragma once

#include <cstdint>

namespace umadvisor::act {

/// What the process's control groups (cgroups(7), version 1 or 2) grant it, those above them included: the
/// least counts. Files are looked for below `root`. All but launcher_world() call open(2), a cancellation
/// point.
constexpr std::uint64_t no_limit = UINT64_MAX;

/// Bytes of memory that may still be taken.
std::uint64_t memory_left_by_groups(const char* root = "") noexcept;

/// Cores that the process may keep busy, rounded down, 1 at the least.
std::uint64_t cores_of_groups(const char* root = "") noexcept;

/// Bytes that the host has to spare: MemAvailable, or what the process's control groups (cgroups(7), version 1
/// or 2) leave it, if less.
std::uint64_t free_host_memory(const char* root = "") noexcept;

/// Half of what the host had to spare when this was first asked.
std::uint64_t host_share() noexcept;

/// How many processes a launcher has started together with this one.
struct World {
    std::uint64_t size;   ///< 1: no launcher says more
    const char* variable; ///< that says so; static
};

/// The greatest number that torchrun, Open MPI, MPICH, MVAPICH, PMIx or Slurm give in the environment.
World launcher_world() noexcept;

} // namespace umadvisor::act
