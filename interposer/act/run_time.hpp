/// The time by which actions are judged.
#pragma once

#include "interposer/record/clock.hpp"

#include <cstdint>

namespace umadvisor::act {

/// Nanoseconds since some moment; simcuda's, which has a clock of its own, where it runs.
inline std::uint64_t run_time() noexcept {
    return record::clock_kind() == trace::ClockKind::simulated ? record::now()
                                                               : record::monotonic_nanoseconds();
}

} // namespace umadvisor::act
