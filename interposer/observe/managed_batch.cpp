#include "interposer/observe/managed_batch.hpp"

#include "interposer/record/recorder.hpp"

#include <algorithm>

namespace umadvisor::observe {

void ManagedBatch::sort() noexcept {
    std::sort(events, events + count,
              [](const trace::ManagedEvent& a, const trace::ManagedEvent& b) { return a.start < b.start; });
}

void write_event(const trace::ManagedEvent& told, const PairedClock& clock) noexcept {
    trace::ManagedEvent event = told;
    event.start = clock.ticks(told.start);
    event.duration = clock.length(told.duration);
    event.code = told.code != 0 ? record::instruction(told.code) : 0;
    record::write(event);
}

} // namespace umadvisor::observe
