#include "interposer/observe/cupti_decoder.hpp"

#include "residency/geometry.hpp"

namespace umadvisor::observe {

namespace cupti = residency::cupti;
using cupti::CounterKind;
using cupti::CounterRecord;
using trace::ManagedEvent;
using trace::ManagedEventKind;

namespace {

/// The trace counts the host as 0 and devices from 1 on.
std::uint64_t processor(std::uint32_t id) {
    return static_cast<std::uint32_t>(id + 1);
}
static_assert(static_cast<std::uint32_t>(cupti::host_id + 1) == 0);

std::uint64_t length(const CounterRecord& from) {
    return from.end > from.start ? from.end - from.start : 0;
}

ManagedEvent event_of(ManagedEventKind kind, const CounterRecord& from) {
    ManagedEvent event;
    event.kind = kind;
    event.start = from.start;
    event.address = from.address;
    return event;
}

ManagedEvent fault(ManagedEventKind kind, const CounterRecord& from) {
    ManagedEvent event = event_of(kind, from);
    event.bytes = rest_of_page(from.address);
    event.cause = from.flags;
    return event;
}

ManagedEvent host_fault(const CounterRecord& from) {
    ManagedEvent event = fault(ManagedEventKind::host_fault, from);
    event.code = from.value;
    return event;
}

ManagedEvent device_fault(const CounterRecord& from) {
    ManagedEvent event = fault(ManagedEventKind::device_fault, from);
    event.to = processor(from.source);
    event.count = from.value != 0 ? from.value - 1 : 0;
    return event;
}

ManagedEvent migration(const CounterRecord& from, std::uint64_t source, std::uint64_t destination) {
    ManagedEvent event = event_of(ManagedEventKind::migration, from);
    event.duration = length(from);
    event.bytes = from.value;
    event.from = source;
    event.to = destination;
    event.cause = from.flags;
    return event;
}

ManagedEvent throttling(const CounterRecord& from) {
    ManagedEvent event = event_of(ManagedEventKind::throttling, from);
    event.duration = length(from);
    event.bytes = residency::page_bytes;
    event.to = (from.flags & cupti::on_host) != 0 ? 0 : processor(from.source);
    return event;
}

/// The source reaches what the destination holds (uvm_types.h, UvmEventMapRemoteInfo).
ManagedEvent remote_map(const CounterRecord& from) {
    ManagedEvent event = event_of(ManagedEventKind::remote_map, from);
    event.bytes = from.value;
    event.from = processor(from.destination);
    event.to = processor(from.source);
    event.cause = from.flags;
    return event;
}

} // namespace

void CuptiDecoder::take(const CounterRecord& record, WriteManaged write, void* to) noexcept {
    if (record.kind != cupti::unified_memory_counter)
        return;
    switch (record.counter_kind) {
    case CounterKind::bytes_to_device:
        return write(to, migration(record, 0, processor(record.destination)));
    case CounterKind::bytes_to_host:
        return write(to, migration(record, processor(record.source), 0));
    case CounterKind::bytes_between_devices:
        return write(to, migration(record, processor(record.source), processor(record.destination)));
    case CounterKind::host_fault:
        return host_faults_.take(host_fault(record), 0, write, to);
    case CounterKind::device_fault:
        return device_faults_.take(device_fault(record), 0, write, to);
    case CounterKind::thrashing: {
        ManagedEvent event = event_of(ManagedEventKind::thrashing, record);
        event.bytes = record.value;
        return write(to, event);
    }
    case CounterKind::throttling:
        return write(to, throttling(record));
    case CounterKind::remote_map:
        return write(to, remote_map(record));
    }
}

void CuptiDecoder::finish(WriteManaged write, void* to) noexcept {
    host_faults_.finish(write, to);
    device_faults_.finish(write, to);
}

} // namespace umadvisor::observe
