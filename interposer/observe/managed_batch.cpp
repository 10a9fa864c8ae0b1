#include "interposer/observe/managed_batch.hpp"

#include "interposer/record/recorder.hpp"

#include <algorithm>

namespace umadvisor::observe {

void ManagedBatch::sort() noexcept {
    std::sort(events, events + count,
              [](const trace::ManagedEvent& a, const trace::ManagedEvent& b) { return a.start < b.start; });
}

void write_event(const trace::ManagedEvent& event, const PairedClock& clock) noexcept {
    trace::ManagedEvent record = event;
    record.start = clock.ticks(event.start);
    record.duration = clock.length(event.duration);
    record.code = event.code != 0 ? record::instruction(event.code) : 0;
    record::write(record);
}

} // namespace umadvisor::observe
