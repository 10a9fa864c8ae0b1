/// The memory and the cores that the host leaves to the program, and the processes that were started with it.
#pragma once

#include <cstdint>

namespace umadvisor::act {

/// Limits of the process's control groups (cgroups(7), version 1 or 2) and of the groups above them: the
/// smallest counts. Files are read below `root`. All functions but launcher_world() call open(2), a
/// cancellation point.
constexpr std::uint64_t no_limit = UINT64_MAX;

/// Bytes of memory that may still be allocated.
std::uint64_t memory_left_by_groups(const char* root = "") noexcept;

/// Cores that the process may keep busy, rounded down, 1 at the least.
std::uint64_t cores_of_groups(const char* root = "") noexcept;

/// Bytes that the host has free: MemAvailable, or memory_left_by_groups() if that is less.
std::uint64_t free_host_memory(const char* root = "") noexcept;

/// Half of free_host_memory() at the first call.
std::uint64_t host_share() noexcept;

/// How many processes a launcher has started together with this one.
struct World {
    std::uint64_t size;   ///< 1: no launcher gives a larger number
    const char* variable; ///< that gave the number; static
};

/// The greatest number that torchrun, Open MPI, MPICH, MVAPICH, PMIx or Slurm give in the environment.
World launcher_world() noexcept;

} // namespace umadvisor::act
