/// Where this process's trace goes.
#pragma once

#include <cstddef>

namespace umadvisor::runtime {

/// Writes the name into `path`: UMADVISOR_OUTPUT, else PROGRAM.[RANK.]PID.umtrace in the working directory.
/// False when it does not fit.
bool trace_path(char* path, std::size_t bytes) noexcept;

/// The same with `.PID` before the suffix: for the second and later processes of one UMADVISOR_OUTPUT.
bool trace_path_with_pid(char* path, std::size_t bytes) noexcept;

} // namespace umadvisor::runtime
