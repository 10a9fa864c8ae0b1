/// The driver's time in ticks of the trace.
#pragma once

#include "interposer/record/clock.hpp"

#include <cstdint>
#include <ctime>

namespace umadvisor::observe {

/// Converts CLOCK_MONOTONIC_RAW, which the driver's unified-memory module stamps its events with (uvm_linux.h,
/// NV_GETTIME), to ticks of the recording clock, by readings of both at the start and of late. On simcuda they
/// are one clock. Not thread-safe.
class RawClock {
public:
    constexpr RawClock() noexcept = default;

    /// The first time: the start.
    void read() noexcept {
        const Pair pair = now();
        if (first_.raw == 0)
            first_ = pair;
        last_ = pair;
    }

    std::uint64_t ticks(std::uint64_t raw) const noexcept {
        const double distance = static_cast<double>(static_cast<std::int64_t>(raw - last_.raw)) * rate();
        return last_.ticks + static_cast<std::uint64_t>(static_cast<std::int64_t>(distance));
    }
    std::uint64_t length(std::uint64_t nanoseconds) const noexcept {
        return static_cast<std::uint64_t>(static_cast<double>(nanoseconds) * rate());
    }

private:
    struct Pair {
        std::uint64_t raw = 0, ticks = 0;
    };
    static Pair now() noexcept {
        const std::uint64_t ticks = record::now();
        if (record::clock_kind() == trace::ClockKind::simulated)
            return {ticks, ticks};
        timespec t{};
        clock_gettime(CLOCK_MONOTONIC_RAW, &t);
        return {static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec),
                ticks};
    }
    double rate() const noexcept {
        return last_.raw > first_.raw ? static_cast<double>(last_.ticks - first_.ticks) /
                                            static_cast<double>(last_.raw - first_.raw)
                                      : 1.0;
    }

    Pair first_, last_;
};

} // namespace umadvisor::observe
