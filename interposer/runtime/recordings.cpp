#include "interposer/runtime/recordings.hpp"

#include "interposer/act/action.hpp"
#include "interposer/observe/device_timer.hpp"
#include "interposer/observe/managed_watch.hpp"
#include "interposer/record/losses.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/runtime/opened_trace.hpp"
#include "interposer/runtime/options.hpp"
#include "interposer/runtime/window.hpp"
#include "trace/records.hpp"

#include <cstdio>
#include <string_view>

namespace umadvisor::runtime {

namespace {

// Used by the thread of control/ alone.
constinit bool held = false; ///< a process that was started to record does not, on request
constinit std::uint64_t ends = 0, begun = 0;
constinit char last_file[sizeof Outcome::file] = {}; ///< of the recording that has ended
constinit char last_snapshot[sizeof Outcome::file] = {};

bool is_standby() {
    return options().mode == Mode::standby;
}

/// A ring is recorded from the start, too, but is ended as a recording of a process in standby is.
bool records_in_parts() {
    return options().has_recordings();
}

bool is_recording() {
    return record::keeps() && !held;
}

/// The error of a request that named its file, with what to do.
const char* with_way_out(const char* error, const char* output) {
    static char text[768];
    if (error == nullptr || *output == '\0' || !std::string_view(error).ends_with("it exists already"))
        return error;
    std::snprintf(text, sizeof text, "%s; choose another name with -o", error);
    return text;
}

void name_file(Outcome& outcome) {
    std::snprintf(outcome.file, sizeof outcome.file, "%s", record::path_of_trace());
}

} // namespace

void start(const Request& request, Outcome& outcome) noexcept {
    if (is_recording()) {
        static char already[sizeof outcome.file + 96];
        std::snprintf(already, sizeof already,
                      "it records already, into %s; umadvisor attach PID stop ends that",
                      record::path_of_trace());
        outcome.error = already;
        return name_file(outcome);
    }
    if (records_in_parts()) {
        const trace::PauseCause cause = options().ring.any() ? trace::PauseCause::ring : request.cause;
        outcome.error = with_way_out(open_next_trace(request.output, cause, request.why), request.output);
        if (outcome.error != nullptr)
            return;
        observe::device_timer().begin_recording();
        observe::managed_watch().wake();
        act::note_modes();
        lift(trace::PauseCause::standby, request.cause);
    } else if (*request.output != '\0') {
        outcome.error = "it goes on in the trace of its whole run: leave -o out";
        return name_file(outcome);
    } else {
        held = false;
        lift(trace::PauseCause::attach, request.cause);
    }
    ++begun;
    ends = request.for_ns != 0 ? record::monotonic_nanoseconds() + request.for_ns : 0;
    name_file(outcome);
}

void stop(trace::PauseCause cause, Outcome& outcome) noexcept {
    name_file(outcome);
    if (!is_recording()) {
        outcome.error = "it does not record; umadvisor attach PID start begins a recording";
        return;
    }
    ends = 0;
    if (!records_in_parts()) {
        held = true;
        return hold(trace::PauseCause::attach);
    }
    observe::managed_watch().deliver_rest();
    hold(trace::PauseCause::standby, cause);
    const bool whole = record::end();
    std::snprintf(last_file, sizeof last_file, "%s", record::path_of_trace());
    const record::Losses lost = record::losses();
    static char missing[192];
    std::snprintf(missing, sizeof missing, "%llu records are missing from the trace: %s",
                  static_cast<unsigned long long>(lost.records), record::words_of(lost.reason));
    if (lost.records != 0 && lost.reason != trace::DropReason::size_cap) // a cap was asked for
        outcome.error = missing;
    else if (!whole)
        outcome.error = "the trace could not be written to its end";
    observe::managed_watch().rest();
}

void stop_if_over() noexcept {
    if (ends == 0 || record::monotonic_nanoseconds() < ends)
        return;
    Outcome outcome;
    stop(trace::PauseCause::duration, outcome);
}

void snapshot(const char* output, bool state_only, const char* why, Outcome& outcome) noexcept {
    const bool whole = !state_only && options().ring.any() && is_recording();
    if (!whole && !record::is_for_later()) {
        outcome.error = "it records all of its run, and its trace can be read at any time";
        return name_file(outcome);
    }
    if (*output != '\0')
        std::snprintf(outcome.file, sizeof outcome.file, "%s", output);
    else if (!next_free_path(outcome.file, sizeof outcome.file)) {
        outcome.error = "no name for the trace is free";
        return;
    }
    outcome.error = with_way_out(record::snapshot(outcome.file, whole, why), output);
    if (outcome.error == nullptr && !state_only)
        std::snprintf(last_snapshot, sizeof last_snapshot, "%s", outcome.file);
}

void mark(const char* text, Outcome& outcome) noexcept {
    if (!is_recording()) {
        outcome.error = "it does not record; umadvisor attach PID start begins a recording";
        return;
    }
    trace::Range record;
    record.start = record::now();
    record.action = trace::RangeAction::mark;
    record.text = record::string_id(text);
    record::write(record);
    record::note("mark \"%s\"", text);
    name_file(outcome);
}

void read_state(RecordingState& state) noexcept {
    state.standby = is_standby();
    state.ring = options().ring.any();
    state.recording = is_recording();
    state.ends = ends;
    state.recordings = begun + (is_standby() ? 0 : 1);
    std::snprintf(state.file, sizeof state.file, "%s",
                  is_recording() || !records_in_parts() ? record::path_of_trace() : last_file);
    std::snprintf(state.snapshot, sizeof state.snapshot, "%s", last_snapshot);
}

} // namespace umadvisor::runtime
