/// Page-locked memory by the lines that make it: what rules and reports say of it.
#pragma once

#include "analyzer/rules/allocation/locked_flights.hpp"
#include "analyzer/rules/profile.hpp"
#include "analyzer/rules/rule.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace umadvisor::rules {

struct LockedLine {
    trace::Memory memory{}; ///< pinned or registered
    tables::LockedTotals locked;
    std::optional<FlightTotals> flights; ///< nothing: the recorded calls do not show what was in flight
};

/// By line and entry point of the call that locks.
std::map<std::pair<ids::StackId, std::uint64_t>, LockedLine> locked_lines(const Profile& profile,
                                                                          const LineOf& line_of);

/// Limits of the process in bytes, as they were at its start; nothing: there is none, or it is not known.
struct LockLimits {
    std::optional<std::uint64_t> locked; ///< RLIMIT_MEMLOCK
    std::optional<std::uint64_t> memory; ///< of the control groups
};
LockLimits lock_limits(const Profile& profile);

} // namespace umadvisor::rules
