#include "interposer/act/action.hpp"

#include "interposer/act/devices.hpp"
#include "interposer/act/work_of_context.hpp"
#include "interposer/observe/launch_detail.hpp"
#include "interposer/observe/residency_sampler.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/runtime/message.hpp"

#include <cstdarg>
#include <cstdio>
#include <pthread.h>

namespace umadvisor::act {

extern constinit Action counting, looking;

/// The order of calls. Modes depend on what the first two find, which see for themselves whether they are
/// needed.
constinit Action* const detail::actions[] = {&counting, &looking,
#define MODE(name, words, ...) &modes::name,
#include "trace/act.def"
                                             nullptr};
constinit std::atomic<bool> detail::acting{false};

namespace {

constexpr std::size_t before_modes = 2; ///< entries of the list
/// How each mode was started.
constinit runtime::Asked started_as[trace::act_mode_count];
/// The thread that switches a mode: its announcements are answers.
constinit std::atomic<pthread_t> switching{};
char answer[1024];
constinit std::atomic<bool (*)() noexcept> siblings{nullptr};

static_assert(std::size(detail::actions) == before_modes + trace::act_mode_count + 1);

Action& action_of(std::size_t mode) {
    return *detail::actions[before_modes + mode];
}

/// Why managed memory is left alone; null if it need not be.
const char* refusal(const DeviceCount& devices) {
    if (devices.able != 0)
        return nullptr;
    if (devices.one_pool != 0)
        return "--act is refused: host and device share one memory, so nothing has to move; the program runs "
               "unchanged";
    return "--act is refused: no device has concurrentManagedAccess; the program runs unchanged";
}

void refuse_managed(runtime::Options& options, const DeviceCount& devices) {
    if (!options.asks(&trace::ActModeText::managed))
        return;
    if (const char* const why = refusal(devices)) {
        announce("%s", why);
        for (std::size_t i = 0; i < trace::act_mode_count; ++i)
            if (trace::act_modes[i].managed)
                options.act[i] = {};
    } else if (devices.able < devices.all) {
        record::note("--act leaves alone %d of %d devices, which have no concurrentManagedAccess",
                     devices.all - devices.able, devices.all);
    }
}

} // namespace

void Action::fail(CUresult why) noexcept {
    if (failures.fetch_add(1, std::memory_order_relaxed) + 1 == max_failures && on.exchange(false) &&
        record::keeps())
        record::note("--act %s: switched off after %d failed actions, the last with CUresult %d", name,
                     max_failures, static_cast<int>(why));
}

void announce(const char* format, ...) noexcept {
    struct Line {
        char text[1024];
    };
    const record::OffStack<Line> line;
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(line->text, sizeof(Line), format, arguments);
    va_end(arguments);
    const bool answers = switching.load(std::memory_order_relaxed) == pthread_self();
    if (answers)
        std::snprintf(answer, sizeof answer, "%s", line->text);
    else
        runtime::say("%s", line->text);
    if (!answers || record::keeps())
        record::note("%s", line->text);
}

bool give_back() noexcept {
    if (give_back_own())
        return true;
    const auto ask = siblings.load(std::memory_order_acquire);
    return ask != nullptr && ask();
}

void set_siblings(bool (*ask)() noexcept) noexcept {
    siblings.store(ask, std::memory_order_release);
}

bool give_back_own() noexcept {
    bool any = false;
    if (acting())
        for (Action* const* each = detail::actions; *each != nullptr; ++each)
            if ((*each)->give_back != nullptr && (*each)->started.load(std::memory_order_acquire))
                any |= (*each)->give_back();
    any |= give_back_for_waits();
    return any;
}

Kept kept(CUdevice device) noexcept {
    Kept kept;
    notify_started<&Action::add_kept>(device, kept);
    kept.device_bytes += bytes_for_waits(device);
    return kept;
}

namespace {

/// Returns whether the action is on.
bool start(Action& action, const runtime::Options& options, const DeviceCount& devices) {
    if (action.start != nullptr && !action.start(options, devices))
        return false;
    action.started.store(true, std::memory_order_release);
    action.on.store(true, std::memory_order_release);
    detail::acting.store(true, std::memory_order_release);
    return true;
}

/// Starts a mode that was not asked for when the program began.
bool start_late(std::size_t mode, const runtime::Asked& asked) {
    runtime::Options options = runtime::options();
    for (std::size_t i = 0; i < trace::act_mode_count; ++i)
        options.act[i] = started_as[i];
    options.act[mode] = asked;
    const DeviceCount devices = learn_devices(options);
    if (trace::act_modes[mode].managed)
        if (const char* const why = refusal(devices)) {
            std::snprintf(answer, sizeof answer, "%s", why);
            return false;
        }
    if (trace::act_modes[mode].launches) // before the first look of an action
        observe::residency_sampler().leave_looks_to_actions();
    for (std::size_t i = 0; i < before_modes; ++i)
        if (Action& action = *detail::actions[i]; !action.is_on())
            start(action, options, devices);
    if (!start(action_of(mode), options, devices))
        return false;
    started_as[mode] = asked;
    return true;
}

/// Notes the switch in the recording that runs. A later recording notes the modes that are on when it begins.
void note_switch(std::size_t mode, const char* state) {
    if (record::keeps())
        record::note("--act %s: switched %s on request", action_of(mode).name, state);
}

bool turn_on(std::size_t mode, const runtime::Asked& asked) {
    Action& action = action_of(mode);
    std::snprintf(answer, sizeof answer, "--act %s is refused", action.name);
    if (action.started.load(std::memory_order_acquire)) {
        action.failures.store(0, std::memory_order_relaxed);
        if (!action.on.exchange(true))
            note_switch(mode, "on");
        return true;
    }
    if (action.only_from_start != nullptr) {
        std::snprintf(answer, sizeof answer, "--act %s has to be given when the program is started: %s",
                      action.name, action.only_from_start);
        return false;
    }
    if (trace::act_modes[mode].launches && observe::launches_are_brief()) {
        std::snprintf(answer, sizeof answer,
                      "--act %s needs launches in full, and they are recorded in brief (UMADVISOR_LAUNCHES)",
                      action.name);
        return false;
    }
    switching.store(pthread_self(), std::memory_order_relaxed);
    const bool started = start_late(mode, asked);
    switching.store({}, std::memory_order_relaxed);
    if (started)
        note_switch(mode, "on");
    return started;
}

} // namespace

/// "relieve, prefetch, ...": those that attach can switch.
constexpr std::string_view no_mode = "there is no such mode of --act; on and off switch one of:"
#define MODE(name, words, ...) " " #name
#include "trace/act.def"
    ;

bool switch_mode(std::string_view text, bool on, const char*& error) noexcept {
    error = no_mode.data();
    for (std::size_t i = 0; i < trace::act_mode_count; ++i) {
        runtime::Asked asked;
        asked.word = trace::act_word(text, trace::act_modes[i].words, asked.size);
        if (asked.word.empty() && text != trace::act_modes[i].name)
            continue;
        const runtime::Asked& before = started_as[i];
        if (!asked.word.empty() && !before.word.empty() &&
            (asked.word != before.word || asked.size != before.size)) {
            error = "the mode was started in another form";
            return false;
        }
        error = answer;
        if (on)
            return turn_on(i, asked);
        if (action_of(i).on.exchange(false))
            note_switch(i, "off");
        return true;
    }
    return false;
}

void note_modes() noexcept {
    for (std::size_t i = 0; i < trace::act_mode_count; ++i)
        if (action_of(i).started.load(std::memory_order_acquire))
            record::note("--act %s: %s when the recording began", action_of(i).name, is_on(i) ? "on" : "off");
}

bool is_on(std::size_t mode) noexcept {
    return action_of(mode).is_on();
}

bool any_is_on() noexcept {
    for (std::size_t i = 0; i < trace::act_mode_count; ++i)
        if (is_on(i))
            return true;
    return false;
}

void initialize(const runtime::Options& requested) noexcept {
    if (!requested.acts() && requested.pretend_bytes == 0)
        return;
    runtime::Options options = requested;
    const DeviceCount devices = learn_devices(options);
    refuse_managed(options, devices);
    for (std::size_t i = 0; i < before_modes; ++i)
        start(*detail::actions[i], options, devices);
    for (std::size_t i = 0; i < trace::act_mode_count; ++i)
        if (!options.act[i].word.empty() && start(action_of(i), options, devices))
            started_as[i] = options.act[i];
}

void refuse_unrecorded(const runtime::Options& options) noexcept {
    if (options.acts())
        runtime::say("--act is refused: it needs recording, which is off");
}

} // namespace umadvisor::act
