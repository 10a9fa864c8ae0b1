/// The traces of this process, and their names.
#pragma once

#include "trace/values.hpp"

#include <cstdint>

namespace umadvisor::runtime {

/// Remembers the working directory, in which traces are made even if the program changes it.
void remember_directory() noexcept;

/// Creates the trace of the whole run, or of its last part. False: it cannot be written, which stderr and
/// `umadvisor run` have been given.
bool open_first_trace() noexcept;

/// Creates the trace of a part of the run. `output`: an absolute path; empty: the next free name. Returns
/// nullptr, or why not (static text).
const char* open_next_trace(const char* output, trace::PauseCause cause, const char* why) noexcept;

/// Absolute path of the next free name for a trace. False if there is none.
bool next_free_path(char* to, std::size_t bytes) noexcept;

/// One line on stderr, unless `umadvisor run` lists the trace.
void say_where_trace_is() noexcept;

} // namespace umadvisor::runtime
