/// The memory that the host leaves to the program, and the processes that were started with it.
#pragma once

#include <cstdint>

namespace umadvisor::act {

// All functions but launcher_world() call open(2), a cancellation point.

/// Bytes that the host has free: MemAvailable, or record::memory_left_by_groups() if that is less. Files are
/// read below `root`.
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
