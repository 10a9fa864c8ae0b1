#include "interposer/observe/event_totals.hpp"

namespace umadvisor::observe {

using trace::ManagedEventKind;

void add_event(trace::ManagedCounters& totals, const trace::ManagedEvent& event) noexcept {
    if (event.kind == ManagedEventKind::host_fault)
        totals.host_faults += 1 + event.count;
    else if (event.kind == ManagedEventKind::device_fault)
        totals.device_faults += 1 + event.count;
    else if (event.kind == ManagedEventKind::migration && event.from == 0)
        totals.bytes_to_device += event.bytes;
    else if (event.kind == ManagedEventKind::migration && event.to == 0)
        totals.bytes_to_host += event.bytes;
}

} // namespace umadvisor::observe
