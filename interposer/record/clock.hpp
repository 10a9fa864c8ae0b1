/// The one seam through which recorded times come.
#pragma once

#include "trace/layout.hpp"

#include <cstdint>

namespace umadvisor::record {

/// Chooses the clock: `simulated` where given, else the invariant counter of the CPU, else CLOCK_MONOTONIC.
/// Once, before the first record.
void choose_clock(std::uint64_t (*simulated)()) noexcept;

trace::ClockKind clock_kind() noexcept;

/// CLOCK_MONOTONIC in nanoseconds; CLOCK_REALTIME likewise.
std::uint64_t monotonic_nanoseconds() noexcept;
std::uint64_t realtime_nanoseconds() noexcept;

/// The recording clock and CLOCK_MONOTONIC at the same moment, to about the length of one clock_gettime.
trace::ClockPair read_clock_pair() noexcept;

} // namespace umadvisor::record
