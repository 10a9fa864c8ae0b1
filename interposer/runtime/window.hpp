/// Which part of the run is recorded: --capture-range, --delay, --duration.
#pragma once

#include "trace/values.hpp"

namespace umadvisor::runtime {

/// Remembers when the process began: a delay counts from there. Called by the library's constructor.
void remember_start() noexcept;

/// Begins as the options say. Called once, when the trace is open.
void open_window() noexcept;

/// Recording pauses while any cause holds it; each change is in the trace. Any thread.
void hold(trace::PauseCause cause) noexcept;
void lift(trace::PauseCause cause) noexcept;

} // namespace umadvisor::runtime
