/// What this process tells the `umadvisor run` that started it (trace/run_list.hpp).
#pragma once

#include "trace/run_list.hpp"

namespace umadvisor::runtime {

/// Appends an entry of this process; `folder` and a slash stand before `text` where `folder` is not empty.
/// False where no run has given a list, or it cannot be written to. Preserves nothing, allocates nothing.
bool tell_run(trace::RunEntryKind kind, const char* folder, const char* text) noexcept;

} // namespace umadvisor::runtime
