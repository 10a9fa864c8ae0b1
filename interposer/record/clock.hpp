/// The single source of recorded times.
#pragma once

#include "trace/layout.hpp"

#include <cstdint>

namespace umadvisor::record {

namespace detail {
/// The function to call instead of reading the CPU's counter; null if that counter is the recording clock.
using OtherClock = std::uint64_t (*)();
extern constinit OtherClock other_clock;
} // namespace detail

/// Ticks of the recording clock.
inline std::uint64_t now() noexcept {
#if defined(__x86_64__)
    if (detail::other_clock == nullptr) [[likely]]
        return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    if (detail::other_clock == nullptr) [[likely]] {
        std::uint64_t value = 0;
        asm volatile("mrs %0, cntvct_el0" : "=r"(value));
        return value;
    }
#endif
    return detail::other_clock();
}

/// Ticks since `start`, at least one, since zero means that a duration was not measured.
inline std::uint64_t ticks_since(std::uint64_t start) noexcept {
    const std::uint64_t ticks = now() - start;
    return ticks != 0 ? ticks : 1;
}

/// Chooses the clock: `simulated` where given, else the invariant counter of the CPU, else CLOCK_MONOTONIC.
/// Once, before the first record.
void choose_clock(std::uint64_t (*simulated)()) noexcept;

trace::ClockKind clock_kind() noexcept;

/// Nanoseconds of the run, by which observers and actions judge: CLOCK_MONOTONIC, or the simulated clock, so
/// that what is found under simcuda does not depend on how fast its host is.
std::uint64_t run_nanoseconds() noexcept;

/// CLOCK_MONOTONIC in nanoseconds; CLOCK_REALTIME likewise.
std::uint64_t monotonic_nanoseconds() noexcept;
std::uint64_t realtime_nanoseconds() noexcept;
/// Processor time of this thread, which does not count the time of others on its core. Reading it is a system
/// call.
std::uint64_t thread_nanoseconds() noexcept;

/// The recording clock and CLOCK_MONOTONIC at the same moment, to about the length of one clock_gettime.
trace::ClockPair read_clock_pair() noexcept;

/// What the recording clock showed when CLOCK_MONOTONIC was at `past`, since choose_clock(). A simulated clock
/// does not go by real time: of it, what it shows now.
std::uint64_t ticks_at(std::uint64_t past) noexcept;

/// How long so many ticks are, by the rate since choose_clock().
std::uint64_t nanoseconds_in(std::uint64_t ticks) noexcept;

} // namespace umadvisor::record
