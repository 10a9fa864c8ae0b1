/// Where this process's trace goes.
#pragma once

#include <cstddef>

namespace umadvisor::runtime {

/// Writes the `number`th name to try into `path`. The first is UMADVISOR_OUTPUT, with `.RANK` before its suffix
/// in a job of ranks (trace/rank.hpp), else PROGRAM.[RANK.]PID.umtrace in the working directory. Of the others
/// UMADVISOR_OUTPUT has `.PID` before its suffix, too, for the further processes of one run; and `-2`, `-3`,
/// ... stand after the pid for what a process has become by exec(2), which keeps its pid. False when it does
/// not fit.
bool trace_path(char* path, std::size_t bytes, int number) noexcept;

} // namespace umadvisor::runtime
