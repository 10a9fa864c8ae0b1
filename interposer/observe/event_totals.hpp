/// Totals of managed memory, of a source that tells events and counts nothing.
#pragma once

#include "trace/records.hpp"

namespace umadvisor::observe {

/// `totals` with what `event` says moved or faulted.
void add_event(trace::ManagedCounters& totals, const trace::ManagedEvent& event) noexcept;

} // namespace umadvisor::observe
