#include "interposer/runtime/window.hpp"

#include "interposer/record/clock.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/runtime/options.hpp"
#include "interposer/runtime/own_thread.hpp"
#include "trace/records.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace umadvisor::runtime {

namespace {

using trace::PauseCause;

constinit record::Mutex mutex{record::Lock::lists};
constinit unsigned held = 0; ///< a bit for each cause
constinit std::uint64_t process_start = 0;

constexpr unsigned bit(PauseCause cause) {
    return 1u << static_cast<unsigned>(cause);
}

void record_change(PauseCause cause) {
    trace::Pause record;
    record.start = record::now();
    record.recording = held == 0;
    record.cause = cause;
    record::write(record);
    record::renew_clock();
}

void sleep_until(std::uint64_t nanoseconds) {
    const timespec end{static_cast<time_t>(nanoseconds / 1'000'000'000),
                       static_cast<long>(nanoseconds % 1'000'000'000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nullptr) == EINTR) {
    }
}

/// A thread, because a library must not have a signal handler, and reading the clock in every call would cost
/// time while nothing is recorded. The thread costs nothing while it sleeps, and it also pauses a program that
/// only launches.
void* keep_time(void*) {
    const std::uint64_t delay_end = process_start + options().delay_ns;
    const std::uint64_t begin = std::max(delay_end, record::monotonic_nanoseconds());
    if (delay_end == begin) {
        sleep_until(begin);
        lift(PauseCause::delay);
    }
    if (options().duration_ns != 0) {
        sleep_until(begin + options().duration_ns);
        hold(PauseCause::duration);
    }
    return nullptr;
}

} // namespace

void remember_start() noexcept {
    process_start = record::monotonic_nanoseconds();
}

void open_window() noexcept {
    if (options().capture_range)
        hold(PauseCause::capture_range);
    const bool delayed = process_start + options().delay_ns > record::monotonic_nanoseconds();
    if (delayed)
        hold(PauseCause::delay);
    if ((delayed || options().duration_ns != 0) && !start_own_thread(&keep_time, "umadvisor")) {
        record::note("--delay and --duration had no effect: a thread could not be started");
        lift(PauseCause::delay);
    }
}

void hold(PauseCause cause) noexcept {
    const record::Guard guard(mutex);
    const unsigned before = held;
    held |= bit(cause);
    if (before != 0)
        return;
    record_change(cause);
    record::pause();
}

void lift(PauseCause cause) noexcept {
    const record::Guard guard(mutex);
    const unsigned before = held;
    held &= ~bit(cause);
    if (before == 0 || held != 0)
        return;
    record::resume();
    record_change(cause);
}

} // namespace umadvisor::runtime
