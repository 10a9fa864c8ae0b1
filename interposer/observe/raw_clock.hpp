/// The driver's time.
#pragma once

#include "interposer/observe/paired_clock.hpp"
#include "interposer/record/clock.hpp"

#include <ctime>

namespace umadvisor::observe {

/// CLOCK_MONOTONIC_RAW, which the driver's unified-memory module stamps its events with (uvm_linux.h,
/// NV_GETTIME). On simcuda it is the recording clock itself. Not thread-safe.
class RawClock : public PairedClock {
public:
    constexpr RawClock() noexcept = default;

    void read() noexcept {
        const std::uint64_t ticks = record::now();
        if (record::clock_kind() == trace::ClockKind::simulated)
            return pair(ticks, ticks);
        timespec t{};
        clock_gettime(CLOCK_MONOTONIC_RAW, &t);
        pair(static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec),
             ticks);
    }
};

} // namespace umadvisor::observe
