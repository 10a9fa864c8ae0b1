/// Recordings of a process that may have several, one after the other: begun and ended while it runs.
#pragma once

#include "trace/values.hpp"

#include <cstdint>

namespace umadvisor::runtime {

/// What became of a request.
struct Outcome {
    const char* error = nullptr; ///< why it was refused: a sentence without a full stop; null: it was done
    char file[4096] = {};        ///< absolute path of the trace that was begun, ended or written
};

/// What to record.
struct Request {
    const char* output = "";   ///< absolute path; empty: named as other traces are
    std::uint64_t for_ns = 0;  ///< the recording ends by itself after as many nanoseconds; 0: it does not
    trace::PauseCause cause{}; ///< attach or trigger
    const char* why = "";      ///< the trigger, for the report
};

/// The state of the process, for answers to clients.
struct RecordingState {
    bool standby = false;         ///< the process records on request (UMADVISOR_MODE=standby)
    bool ring = false;            ///< the last part of the run is kept (UMADVISOR_RING)
    bool recording = false;       ///< calls are recorded into `file` now
    std::uint64_t ends = 0;       ///< CLOCK_MONOTONIC at which the recording ends by itself; 0: it does not
    std::uint64_t recordings = 0; ///< begun so far
    char file[4096] = {};         ///< of the recording, or of the last one; empty: there was none
    char snapshot[4096] = {};     ///< the last that was written apart; empty: none
};

/// Begins a recording. Refused while one is under way. Where the process was started to record, the recording
/// goes on after stop(). All of these are for the thread of control/ alone; they hold no lock when they return.
void start(const Request& request, Outcome& outcome) noexcept;

/// Ends the recording: when it returns, the file has every call that had returned before.
void stop(trace::PauseCause cause, Outcome& outcome) noexcept;

/// Ends a recording whose time is over. To be called once RecordingState::ends has come.
void stop_if_over() noexcept;

/// Writes a trace of its own: of the ring what it holds, else what is alive (`state_only`): allocations,
/// streams, contexts, modules, and which line made them. `why` is for the report.
void snapshot(const char* output, bool state_only, const char* why, Outcome& outcome) noexcept;

/// Puts a mark into the recording. Refused without one.
void mark(const char* text, Outcome& outcome) noexcept;

void read_state(RecordingState& state) noexcept;

} // namespace umadvisor::runtime
