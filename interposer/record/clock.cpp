#include "interposer/record/clock.hpp"

#include "interposer/base/small_file.hpp"
#include "interposer/record/recorder.hpp"

#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace umadvisor::record {

constinit detail::OtherClock detail::other_clock = monotonic_nanoseconds;

namespace {

constinit trace::ClockKind kind = trace::ClockKind::monotonic;
constinit trace::ClockPair chosen_at{};

std::uint64_t nanoseconds(clockid_t clock) noexcept {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

#if defined(__x86_64__)
/// The CPU promises a constant rate (CPUID 8000_0007h EDX bit 8, Intel SDM vol. 3 "Invariant TSC"), and the
/// kernel found the counters of all cores in step: it has made the TSC its own clock source. In a guest on
/// kvm-clock or Hyper-V's page the rate may change with a migration, so the flag alone is not believed.
bool cpu_counter_invariant() noexcept {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(0x80000007, &a, &b, &c, &d) == 0 || (d & (1u << 8)) == 0)
        return false;
    base::SmallFile<8> name;
    return name.read("/sys/devices/system/clocksource/clocksource0/current_clocksource") &&
           name.view().starts_with("tsc\n");
}
#elif defined(__aarch64__)
/// The architecture promises it (Arm ARM, "The Generic Timer"): one rate, one value for all cores.
bool cpu_counter_invariant() noexcept {
    return true;
}
#else
bool cpu_counter_invariant() noexcept {
    return false;
}
#endif

/// Ticks for each nanosecond since choose_clock().
double rate_until(const trace::ClockPair& last) noexcept {
    return static_cast<double>(last.ticks - chosen_at.ticks) /
           static_cast<double>(last.monotonic_ns - chosen_at.monotonic_ns);
}

} // namespace

void choose_clock(std::uint64_t (*simulated)()) noexcept {
    kind = simulated != nullptr      ? trace::ClockKind::simulated
           : cpu_counter_invariant() ? trace::ClockKind::tsc
                                     : trace::ClockKind::monotonic;
    detail::other_clock = kind == trace::ClockKind::tsc ? nullptr
                          : simulated != nullptr        ? simulated
                                                        : monotonic_nanoseconds;
    chosen_at = read_clock_pair();
}

trace::ClockKind clock_kind() noexcept {
    return kind;
}

std::uint64_t run_nanoseconds() noexcept {
    return kind == trace::ClockKind::simulated ? now() : monotonic_nanoseconds();
}

std::uint64_t monotonic_nanoseconds() noexcept {
    return nanoseconds(CLOCK_MONOTONIC);
}

std::uint64_t realtime_nanoseconds() noexcept {
    return nanoseconds(CLOCK_REALTIME);
}

std::uint64_t thread_nanoseconds() noexcept {
    return nanoseconds(CLOCK_THREAD_CPUTIME_ID);
}

trace::ClockPair read_clock_pair() noexcept {
    if (kind != trace::ClockKind::tsc) {
        const std::uint64_t t = now();
        return {t, t};
    }
    // A thread that loses its core between the two readings would put them apart: take the closest of a few.
    constexpr std::uint64_t close_enough = 1000; // ticks
    trace::ClockPair best{};
    std::uint64_t best_gap = ~std::uint64_t{0};
    for (int tries = 0; tries < 4 && best_gap > close_enough; ++tries) {
        const std::uint64_t before = now();
        const std::uint64_t monotonic = monotonic_nanoseconds();
        const std::uint64_t gap = now() - before;
        if (gap < best_gap) {
            best_gap = gap;
            best = {before + gap / 2, monotonic};
        }
    }
    return best;
}

std::uint64_t ticks_at(std::uint64_t past) noexcept {
    const trace::ClockPair last = read_clock_pair();
    if (kind == trace::ClockKind::simulated || past >= last.monotonic_ns ||
        chosen_at.monotonic_ns >= last.monotonic_ns)
        return last.ticks;
    return last.ticks -
           static_cast<std::uint64_t>(rate_until(last) * static_cast<double>(last.monotonic_ns - past));
}

std::uint64_t nanoseconds_in(std::uint64_t ticks) noexcept {
    if (kind != trace::ClockKind::tsc)
        return ticks;
    const trace::ClockPair last = read_clock_pair();
    return last.monotonic_ns > chosen_at.monotonic_ns && last.ticks > chosen_at.ticks
               ? static_cast<std::uint64_t>(static_cast<double>(ticks) / rate_until(last))
               : 0;
}

} // namespace umadvisor::record
