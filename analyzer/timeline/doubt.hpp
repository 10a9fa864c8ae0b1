/// How sure the clock is of durations that no record has.
#pragma once

#include "analyzer/timeline/window.hpp"

#include <algorithm>

namespace umadvisor::timeline {

/// A wait that takes longer than this beyond its own call has waited.
inline constexpr double clearly_ns = 1000;
/// A free takes no longer by itself where it has little to undo.
inline constexpr double usual_free_ns = 100'000;
/// Of the latency between a launch and the return of a wait for it, what passes before the kernel begins.
inline constexpr double share_before = 0.6;
inline constexpr double least_latency = 0, most_latency = 30'000;
/// How far work may be off, relative to what is expected of it: work that was measured itself, work of which
/// others were measured, by how those differ, and work of which others were alone between two waits. What was
/// measured is off by what the events around it take, besides.
inline constexpr double doubt_of_measured = 0.001, least_doubt_of_alike = 0.002, most_doubt_of_alike = 0.3,
                        doubt_of_one_alike = 0.1, doubt_of_fitted = 0.2;
inline constexpr double event_ns = 1500;
/// Work of one kind changes in the course of a run: the latest counts for so much of what is expected of the
/// next.
inline constexpr double share_of_latest = 0.35;
/// The least that was seen is believed less and less, where calls keep taking longer.
inline constexpr double growth_of_own = 1.05;
/// Work that is known well does not grow by more than this to explain a wait; what is left is the wait's own.
inline constexpr double most_growth = 0.5;
inline constexpr double well_known = 0.3;
/// Close enough, in nanoseconds.
inline constexpr double exact = 0.5;

/// What work takes on the device where all that a wait may have been for is `factor` times as long as expected:
/// each by its weight, or all alike.
inline double fitted(const Pending& pending, double factor, bool all_alike) {
    return std::max(0.0, pending.expected_ns * (1 + (factor - 1) * (all_alike ? 1 : pending.weight)));
}

} // namespace umadvisor::timeline
