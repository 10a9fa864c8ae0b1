/// Which part of the run is recorded: --capture-range, --delay, --duration.
#pragma once

#include "trace/values.hpp"

namespace umadvisor::runtime {

/// Notes when the process began, from which a delay counts. Called by the library's constructor.
void remember_start() noexcept;

/// Begins the window that the options ask for. Called once, when the trace is open.
void open_window() noexcept;

/// Records a pause that has begun or ended since the program's last call. Called when the process exits.
void close_window() noexcept;

/// Recording pauses while any cause holds it; each change is recorded. Any thread may call these.
void hold(trace::PauseCause cause) noexcept;
void lift(trace::PauseCause cause) noexcept;
/// The same, recorded with another cause.
void hold(trace::PauseCause cause, trace::PauseCause why) noexcept;
void lift(trace::PauseCause cause, trace::PauseCause why) noexcept;

/// Whether calls are counted for who watches the program (record/totals.hpp). While they are, every hook runs,
/// also in a pause.
void watch(bool on) noexcept;

/// A mode of --act was switched on or off: in standby hooks run while one is on.
void follow_actions() noexcept;

} // namespace umadvisor::runtime
