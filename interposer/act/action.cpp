#include "interposer/act/action.hpp"

#include "interposer/act/devices.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/runtime/message.hpp"

#include <cstdarg>
#include <cstdio>

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
    if (failures.fetch_add(1, std::memory_order_relaxed) + 1 == max_failures && on.exchange(false))
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
    runtime::say("%s", line->text);
    record::note("%s", line->text);
}

void initialize(const runtime::Options& requested) noexcept {
    if (!requested.acts() && requested.pretend_bytes == 0)
        return;
    runtime::Options options = requested;
    const DeviceCount devices = learn_devices(options);
    refuse_managed(options, devices);
    constexpr std::size_t before_modes = std::size(detail::actions) - trace::act_mode_count - 1;
    for (std::size_t i = 0; detail::actions[i] != nullptr; ++i) {
        Action& action = *detail::actions[i];
        const bool asked = i < before_modes || !options.act[i - before_modes].word.empty();
        if (!asked || (action.start != nullptr && !action.start(options, devices)))
            continue;
        action.started.store(true, std::memory_order_release);
        action.on.store(true, std::memory_order_release);
        detail::acting.store(true, std::memory_order_release);
    }
}

void refuse_unrecorded(const runtime::Options& options) noexcept {
    if (options.acts())
        runtime::say("--act is refused: it needs recording, which is off");
}

} // namespace umadvisor::act
