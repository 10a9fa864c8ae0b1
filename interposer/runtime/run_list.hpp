/// Entries for the `umadvisor run` that started this process (trace/run_list.hpp).
#pragma once

#include "trace/run_list.hpp"

namespace umadvisor::runtime {

/// Appends an entry of this process; if `folder` is not empty it is written before `text`, with a slash. False
/// if no run has given a list, or it cannot be written. Does not preserve errno; does not allocate.
bool report_to_run(trace::RunEntryKind kind, const char* folder, const char* text) noexcept;

} // namespace umadvisor::runtime
