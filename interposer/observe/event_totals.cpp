#include "interposer/observe/event_totals.hpp"

namespace umadvisor::observe {

using trace::ManagedEvent;
using trace::ManagedEventKind;

/// An eviction makes room for what a device asks for.
EventTotals::Side EventTotals::side_of(const ManagedEvent& event) noexcept {
    switch (event.kind) {
    case ManagedEventKind::host_fault:
        return Side::host;
    case ManagedEventKind::device_fault:
        return Side::device;
    case ManagedEventKind::migration:
        return event.to == 0 && event.cause != static_cast<std::uint64_t>(trace::MigrationCause::eviction)
                   ? Side::host
                   : Side::device;
    default:
        return Side::unknown;
    }
}

bool EventTotals::changes_side(const ManagedEvent& event) const noexcept {
    const Side side = side_of(event);
    return side != Side::unknown && side_ != Side::unknown && side != side_;
}

void EventTotals::add(const ManagedEvent& event) noexcept {
    if (const Side side = side_of(event); side != Side::unknown)
        side_ = side;
    if (event.kind == ManagedEventKind::host_fault)
        sums_.host_faults += 1 + event.count;
    else if (event.kind == ManagedEventKind::device_fault)
        sums_.device_faults += 1 + event.count;
    else if (event.kind == ManagedEventKind::migration && event.from == 0)
        sums_.bytes_to_device += event.bytes;
    else if (event.kind == ManagedEventKind::migration && event.to == 0)
        sums_.bytes_to_host += event.bytes;
}

} // namespace umadvisor::observe
