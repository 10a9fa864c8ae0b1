/// How long the program was in CUDA calls, in a line.
#pragma once

#include "analyzer/rules/profile.hpp"

#include <string>

namespace umadvisor::reports {

/// "cudaMemcpy 7.1 ms (16), cudaLaunchKernel about 1.2 ms (500, 31 of them measured), 6 others 41 us": the
/// calls that took longest, of all threads. Empty without calls.
std::string call_times_text(const rules::Profile& profile);

/// Waits that take no time which a change would save, but a core. Empty: they are not worth mentioning, or may
/// sleep.
std::string spinning_text(const rules::Profile& profile);

/// Questions about devices and kernels that are only counted. Empty: fewer than one a launch.
std::string questions_text(const rules::Profile& profile);

} // namespace umadvisor::reports
