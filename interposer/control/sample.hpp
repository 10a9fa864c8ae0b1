/// The numbers of the program at one moment.
#pragma once

#include "interposer/record/totals.hpp"
#include "policy/trigger.hpp"

#include <cstdint>

namespace umadvisor::control {

using policy::Metric;

struct Sample {
    std::uint64_t time_ns; ///< CLOCK_MONOTONIC
    record::Totals totals; ///< of managed memory, the driver's own where they can be read
    std::uint64_t device_bytes, managed_bytes, pinned_bytes, allocations; ///< in use
};

/// Takes no lock, and asks the driver nothing.
void take(Sample& sample) noexcept;

/// What a metric was between two samples; not that of steps (steps.hpp).
double value_of(Metric metric, const Sample& before, const Sample& now) noexcept;

} // namespace umadvisor::control
