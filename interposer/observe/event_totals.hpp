/// Totals of managed memory for a source that gives events but no counters.
#pragma once

#include "trace/records.hpp"

namespace umadvisor::observe {

/// `totals` plus the bytes and faults of `event`.
void add_event(trace::ManagedCounters& totals, const trace::ManagedEvent& event) noexcept;

} // namespace umadvisor::observe
