/// The list that `umadvisor run` gives to the processes it starts (UMADVISOR_RUN): a file to which each process
/// that enters CUDA appends one entry. So the run knows its traces from those of other runs, wherever they are.
#pragma once

#include <cstdint>

namespace umadvisor::trace {

/// An entry is KIND PID ' ' TEXT '\0', the pid in decimal digits, written at once. The text is the trace's
/// absolute path, or the sentence that says why there is none.
enum class RunEntryKind : char { trace = 'w', trouble = 't' };

} // namespace umadvisor::trace
