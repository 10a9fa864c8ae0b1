/// The list that `umadvisor run` gives to the processes it starts (UMADVISOR_RUN): a file to which each process
/// that enters CUDA appends one entry. So the run knows its traces from those of other runs, wherever they are.
#pragma once

#include <array>
#include <cstdint>

namespace umadvisor::trace {

/// Starts the file. The variable may name any file by the time a process reads it: what does not start like
/// this is left alone.
inline constexpr std::array<char, 8> run_list_magic{'U', 'M', 'R', 'U', 'N', 'L', 'S', 'T'};

/// An entry is '\0' KIND PID ' ' BYTES ' ' TEXT '\0', the pid and the text's length in decimal digits, written
/// at once. The text is the trace's absolute path, or the sentence that says why there is none. A full disk may
/// cut an entry: the length shows that, and the zero in front keeps it apart from the next.
enum class RunEntryKind : char { trace = 'w', trouble = 't' };

} // namespace umadvisor::trace
