/// How many processes a launcher has started together with this one.
#pragma once

#include <cstdint>

namespace umadvisor::act {

struct World {
    std::uint64_t size;   ///< 1: no launcher says more
    const char* variable; ///< that says so; static
};

/// The greatest number that torchrun, Open MPI, MPICH, MVAPICH, PMIx or Slurm give in the environment.
World launcher_world() noexcept;

} // namespace umadvisor::act
