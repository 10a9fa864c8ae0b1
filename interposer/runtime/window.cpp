#include "interposer/runtime/window.hpp"

#include "interposer/act/action.hpp"
#include "interposer/act/deferred.hpp"
#include "interposer/observe/allocations.hpp"
#include "interposer/observe/managed_watch.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/thread_writer.hpp"
#include "interposer/record/totals.hpp"
#include "interposer/runtime/options.hpp"
#include "interposer/runtime/own_thread.hpp"
#include "trace/records.hpp"

#include <algorithm>
#include <atomic>
#include <ctime>

namespace umadvisor::runtime {

namespace {

using record::Taking;
using trace::PauseCause;

constexpr std::uint64_t never = ~std::uint64_t{0};

constinit record::Mutex mutex{record::Lock::lists}; ///< guards what follows; other threads read it, too
constinit std::atomic<unsigned> held{0};            ///< a bit for each cause
constinit std::atomic<std::uint64_t> due{never};    ///< when the delay or the duration is over, CLOCK_MONOTONIC
constinit std::uint64_t process_start = 0;

constexpr unsigned bit(PauseCause cause) {
    return 1u << static_cast<unsigned>(cause);
}

void record_change(PauseCause cause, std::uint64_t time) {
    trace::Pause record;
    record.start = time;
    record.recording = held == 0;
    record.cause = cause;
    record::write(record);
    record::renew_clock();
}

bool takes_by_clock(Taking level) noexcept;

/// Whether hooks run in a pause, too: while the program is watched; between recordings while a mode of --act is
/// on; while copies may be deferred, which have to be made before other calls; and while calls are looked at
/// for another reason. `held` alone says whether what hooks write belongs in a file.
bool hooks_run_in_pauses() {
    return record::watched() || (options().has_recordings() && act::any_is_on()) || act::modes::batch.is_on() ||
           act::calls_are_looked_at();
}

bool hooks_run() {
    return held == 0 || hooks_run_in_pauses();
}

/// Only where the next change is one of the clock's do calls ask it.
void take_what_is_asked() {
    if (due.load(std::memory_order_relaxed) != never && (held & ~bit(PauseCause::delay)) == 0)
        record::follow_clock(&takes_by_clock);
    else if (hooks_run())
        record::resume();
    else
        record::pause();
}

/// With `mutex` held, as all that follow. `time` is that of the recording clock.
void change(PauseCause cause, unsigned causes, std::uint64_t time) {
    const bool recorded = held == 0;
    held = causes;
    record::set_held(held != 0);
    if (recorded != (causes == 0))
        record_change(cause, time);
}

/// Applies the pauses and resumes that are due by now, with the times at which they were due: maybe long ago.
void pass_time() {
    for (std::uint64_t end; (end = due.load(std::memory_order_relaxed)) <= record::monotonic_nanoseconds();) {
        if ((held & bit(PauseCause::delay)) != 0) {
            due = options().duration_ns != 0 ? end + options().duration_ns : never;
            change(PauseCause::delay, held & ~bit(PauseCause::delay), record::ticks_at(end));
        } else {
            due = never;
            change(PauseCause::duration, held | bit(PauseCause::duration), record::ticks_at(end));
        }
    }
}

/// Whether `due` may have come. CLOCK_MONOTONIC_COARSE is a few nanoseconds' reading, with any clock
/// source; it stands still for a tick, at most 10 ms (HZ=100).
bool is_due() {
    constexpr std::uint64_t longest_tick = 10'000'000;
    timespec coarse{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &coarse);
    const auto now =
        static_cast<std::uint64_t>(coarse.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(coarse.tv_nsec);
    const std::uint64_t end = due.load(std::memory_order_relaxed);
    return now + longest_tick >= end && record::monotonic_nanoseconds() >= end;
}

/// No thread and no signal keeps the time: a thread would be one that the program has not started, and a
/// library must not have a signal handler. Each call looks instead, but only while a change is due. Where it
/// must not record the change it leaves that to the next: a call in a signal handler that interrupts a wrapper,
/// and our own threads, which still write what was before it.
bool takes_by_clock(Taking level) noexcept {
    bool recorded = held == 0;
    if (is_due()) {
        recorded = !recorded;
        if (!is_own_thread() && !record::seat.inside_wrapper && record::has_thread_pages() &&
            mutex.try_lock()) {
            const record::Quiet quiet;
            record::seat.inside_wrapper = true;
            pass_time();
            take_what_is_asked();
            recorded = held == 0;
            record::seat.inside_wrapper = false;
            mutex.unlock();
        }
    }
    return level <= (recorded || hooks_run_in_pauses() ? Taking::everything : Taking::state);
}

/// For a copy between two allocations of devices.
bool crosses_devices(std::uint64_t source, std::uint64_t destination) noexcept {
    observe::Allocation from, to;
    return observe::allocations().find(source, from) && observe::allocations().find(destination, to) &&
           from.device != to.device;
}

} // namespace

void remember_start() noexcept {
    process_start = record::monotonic_nanoseconds();
}

void open_window() noexcept {
    if (options().capture_range)
        hold(PauseCause::capture_range);
    if (options().mode == Mode::standby)
        hold(PauseCause::standby);
    const std::uint64_t now = record::monotonic_nanoseconds(), delay_end = process_start + options().delay_ns;
    if (delay_end > now)
        hold(PauseCause::delay);
    const record::Guard guard(mutex);
    if (delay_end > now)
        due = delay_end;
    else if (options().duration_ns != 0)
        due = now + options().duration_ns;
    take_what_is_asked();
}

void close_window() noexcept {
    if (due.load(std::memory_order_relaxed) == never || !mutex.try_lock())
        return;
    const record::Quiet quiet;
    pass_time();
    take_what_is_asked();
    mutex.unlock();
}

void hold(PauseCause cause) noexcept {
    hold(cause, cause);
}

void hold(PauseCause cause, PauseCause why) noexcept {
    const record::Guard guard(mutex);
    pass_time();
    change(why, held | bit(cause), record::now());
    take_what_is_asked();
}

void lift(PauseCause cause) noexcept {
    lift(cause, cause);
}

void lift(PauseCause cause, PauseCause why) noexcept {
    const record::Guard guard(mutex);
    pass_time();
    const unsigned causes = held & ~bit(cause);
    change(why, causes, record::now());
    take_what_is_asked();
}

void follow_actions() noexcept {
    const record::Guard guard(mutex);
    take_what_is_asked();
}

void watch(bool on) noexcept {
    {
        const record::Guard guard(mutex);
        record::watch(on, &crosses_devices);
        if (on) // launches that threads remember are not counted
            observe::allocations().renew();
        pass_time();
        take_what_is_asked();
    }
    if (record::keeps())
        return;
    on ? observe::managed_watch().wake() : observe::managed_watch().rest();
}

} // namespace umadvisor::runtime
