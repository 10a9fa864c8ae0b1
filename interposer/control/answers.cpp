#include "interposer/control/answers.hpp"

#include "interposer/act/action.hpp"
#include "interposer/control/program_name.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/losses.hpp"
#include "interposer/record/totals.hpp"
#include "interposer/runtime/options.hpp"
#include "interposer/runtime/window.hpp"
#include "trace/act_modes.hpp"

#include <unistd.h>

namespace umadvisor::control {

namespace {

constexpr std::uint64_t protocol = 1;

/// One request, its answer, and what the answer is made of.
struct Exchange {
    const Request& request;
    Answering& room;
    Wishes& wishes;

    JsonText json{room.text, sizeof room.text};
    const char* error = nullptr;
};

void finish_with_file(Exchange& at) {
    at.error = at.room.outcome.error;
    at.json.text("file", at.room.outcome.file);
}

/// Empty, or an absolute path; ended by a zero, as all values are.
const char* output_of(Exchange& at) {
    const std::string_view output = at.request.value("output");
    if (!output.empty() && (output.front() != '/' || output.size() >= sizeof at.room.outcome.file)) {
        at.error = "output must be an absolute path of less than 4096 bytes";
        return nullptr;
    }
    return output.empty() ? "" : output.data();
}

/// Of a key that may be left out.
bool flag_of(Exchange& at, std::string_view key) {
    bool flag = false;
    const std::string_view text = at.request.value(key);
    if (!text.empty() && !parse_flag(text, flag))
        at.error = "hold, state and on must be 0 or 1";
    return flag;
}

void answer_status(Exchange& at) {
    runtime::RecordingState& state = at.room.state;
    state = {};
    runtime::read_state(state);
    JsonText& json = at.json;
    json.number("protocol", protocol);
    json.text("version", UMADVISOR_VERSION);
    json.number("pid", static_cast<std::uint64_t>(getpid()));
    json.text("program", program_name());
    json.text("mode", state.standby ? "standby" : state.ring ? "ring" : "record");
    json.flag("recording", state.recording);
    json.text("file", state.file);
    if (state.snapshot[0] != '\0')
        json.text("snapshot", state.snapshot);
    const std::uint64_t now = record::monotonic_nanoseconds();
    if (state.recording && state.ends != 0)
        json.seconds("ends_in_s", state.ends > now ? state.ends - now : 0);
    json.number("recordings", state.recordings);
    if (const record::Losses lost = record::losses(); lost.records != 0) {
        json.number("dropped", lost.records);
        json.text("dropped_because", record::words_of(lost.reason));
    }
    json.flag("watched", record::watched());
    json.text("trigger", runtime::options().when);
    if (at.room.trigger_rests)
        json.flag("trigger_rests", true);
    json.begin_list("act");
    for (std::size_t i = 0; i < trace::act_mode_count; ++i) {
        json.begin_object();
        json.text("mode", trace::act_modes[i].name);
        json.flag("on", act::is_on(i));
        json.end_object();
    }
    json.end_list();
    const act::Kept kept = act::kept(-1);
    json.number("kept_device_bytes", kept.device_bytes);
    json.number("kept_pinned_bytes", kept.host_bytes);
}

void answer_start(Exchange& at) {
    runtime::Request& wanted = at.room.wanted;
    wanted = {};
    wanted.cause = trace::PauseCause::attach;
    const std::string_view span = at.request.value("for");
    if (!span.empty() && (!parse_number(span, wanted.for_ns) || wanted.for_ns == 0))
        at.error = "for must be a number of nanoseconds";
    const char* const output = output_of(at);
    const bool hold = flag_of(at, "hold");
    if (at.error != nullptr)
        return;
    wanted.output = output;
    runtime::start(wanted, at.room.outcome);
    at.wishes.hold = hold && at.room.outcome.error == nullptr;
    finish_with_file(at);
}

void answer_stop(Exchange& at) {
    runtime::stop(trace::PauseCause::attach, at.room.outcome);
    finish_with_file(at);
}

void answer_mark(Exchange& at) {
    const std::string_view text = at.request.value("text");
    if (text.empty()) {
        at.error = "mark needs a text";
        return;
    }
    runtime::mark(text.data(), at.room.outcome);
    at.error = at.room.outcome.error;
}

void answer_snapshot(Exchange& at) {
    const char* const output = output_of(at);
    const bool state_only = flag_of(at, "state");
    if (at.error != nullptr)
        return;
    runtime::snapshot(output, state_only, "", at.room.outcome);
    finish_with_file(at);
}

void answer_act(Exchange& at) {
    const std::string_view mode = at.request.value("mode");
    if (mode.empty() || at.request.value("on").empty())
        at.error = "act needs a mode and on=0 or on=1";
    const bool on = flag_of(at, "on");
    if (at.error != nullptr)
        return;
    if (const char* why = nullptr; !act::switch_mode(mode, on, why))
        at.error = why;
    runtime::follow_actions();
}

/// Another process has no memory.
void answer_give_back(Exchange& at) {
    at.json.flag("given_back", act::give_back_own());
}

void write_copies(JsonText& json, const record::Totals& totals) {
    constexpr std::string_view names[record::copy_ways] = {"h2d", "d2h", "d2d", "peer", "h2h", "managed"};
    json.begin_object("copies");
    for (std::size_t i = 0; i < record::copy_ways; ++i) {
        json.begin_object(names[i]);
        json.number("calls", totals.copies[i].calls);
        json.number("bytes", totals.copies[i].bytes);
        json.number("pageable_bytes", totals.copies[i].pageable_bytes);
        json.end_object();
    }
    json.end_object();
}

void answer_counters(Exchange& at) {
    at.wishes.watch = true;
    const Sample& now = at.room.sample;
    take(at.room.sample);
    const record::Totals& totals = now.totals;
    JsonText& json = at.json;
    json.number("monotonic_ns", now.time_ns);
    json.number("watched_ns", totals.watched_ns);
    write_copies(json, totals);
    json.number("launches", totals.launches);
    json.number("graph_launches", totals.graph_launches);
    json.begin_object("waits");
    json.number("calls", totals.waits);
    json.number("ns", totals.wait_ns);
    json.end_object();
    json.number("calls_ns", totals.calls_ns);
    json.begin_object("managed");
    json.number("to_device_bytes", totals.managed_bytes_to_device);
    json.number("to_host_bytes", totals.managed_bytes_to_host);
    json.number("device_faults", totals.device_faults);
    json.number("host_faults", totals.host_faults);
    json.number("thrashing", totals.thrashing);
    json.end_object();
    json.begin_object("memory");
    json.number("device_bytes", now.device_bytes);
    json.number("managed_bytes", now.managed_bytes);
    json.number("pinned_bytes", now.pinned_bytes);
    json.number("allocations", now.allocations);
    json.number("refused", totals.refused);
    json.end_object();
    json.begin_object("act");
    json.number("actions", totals.actions);
    json.number("bytes", totals.act_bytes);
    json.end_object();
}

struct Command {
    std::string_view name, keys;
    void (*answer)(Exchange&);
};
constexpr Command commands[] = {
    {"status", "", &answer_status},
    {"start", "for output hold", &answer_start},
    {"stop", "", &answer_stop},
    {"mark", "text", &answer_mark},
    {"snapshot", "output state", &answer_snapshot},
    {"act", "mode on", &answer_act},
    {"counters", "", &answer_counters},
    {"give_back", "", &answer_give_back},
};

} // namespace

std::string_view refuse(const char* error, Answering& room) noexcept {
    JsonText json(room.text, sizeof room.text);
    json.begin_object();
    json.flag("ok", false);
    json.text("error", error);
    json.end_object();
    return json.finish();
}

std::string_view answer(const Request& request, Answering& room, Wishes& wishes) noexcept {
    Exchange at{request, room, wishes};
    for (const Command& command : commands) {
        if (command.name != request.command)
            continue;
        room.outcome.error = nullptr;
        room.outcome.file[0] = '\0';
        at.json.begin_object();
        at.json.flag("ok", true);
        at.error = request.check(command.keys);
        if (at.error == nullptr)
            command.answer(at);
        at.json.end_object();
        if (at.error != nullptr)
            return refuse(at.error, room);
        const std::string_view line = at.json.finish();
        return line.empty() ? refuse("the answer is too long", room) : line;
    }
    return refuse("there is no such command", room);
}

} // namespace umadvisor::control
