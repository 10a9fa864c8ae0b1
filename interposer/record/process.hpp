/// Who this process is.
#pragma once

#include <string_view>

namespace umadvisor::record {

/// The rank that the launcher gave (torchrun, Open MPI, MPICH and its kin, Slurm), at most 64 bytes; empty
/// where there is none. Points into the environment.
std::string_view rank() noexcept;

/// Writes the Process record. Once.
void define_process() noexcept;

} // namespace umadvisor::record
