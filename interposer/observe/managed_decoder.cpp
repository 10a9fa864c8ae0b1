#include "interposer/observe/managed_decoder.hpp"

#include "residency/geometry.hpp"

#include <algorithm>
#include <cstring>

namespace umadvisor::observe {

namespace tools = residency::tools;
using trace::ManagedEvent;
using trace::ManagedEventKind;

namespace {

template <class Layout>
Layout as(const tools::Entry& entry) {
    Layout layout;
    static_assert(sizeof layout <= sizeof entry);
    std::memcpy(&layout, entry.bytes, sizeof layout);
    return layout;
}

ManagedEvent host_fault(const tools::HostFault& from) {
    ManagedEvent event;
    event.kind = ManagedEventKind::host_fault;
    event.start = from.time;
    event.address = from.address;
    event.bytes = rest_of_page(from.address);
    event.cause = from.access;
    event.code = from.program_counter;
    event.thread = from.thread;
    return event;
}

ManagedEvent device_fault(const tools::DeviceFault& from) {
    ManagedEvent event;
    event.kind = ManagedEventKind::device_fault;
    event.start = from.time;
    event.address = from.address;
    event.bytes = rest_of_page(from.address);
    event.to = from.device;
    event.cause = from.access;
    return event;
}

ManagedEvent migration(const tools::Migration& from) {
    ManagedEvent event;
    event.kind = ManagedEventKind::migration;
    event.start = from.begin;
    event.duration = from.end > from.begin ? from.end - from.begin : 0;
    event.address = from.address;
    event.bytes = from.bytes;
    event.from = from.from;
    event.to = from.to;
    event.cause = from.cause;
    return event;
}

ManagedEvent region(ManagedEventKind kind, std::uint64_t address, std::uint64_t bytes, std::uint64_t time) {
    ManagedEvent event;
    event.kind = kind;
    event.start = time;
    event.address = address;
    event.bytes = bytes;
    return event;
}

} // namespace

void ManagedDecoder::begin_throttling(const tools::Throttling& start) noexcept {
    for (tools::Throttling& slot : throttled_)
        if (slot.time == 0 || slot.processor == start.processor) {
            slot = start;
            return;
        }
}

void ManagedDecoder::end_throttling(const tools::Throttling& end, Write write, void* to) noexcept {
    ManagedEvent event = region(ManagedEventKind::throttling, end.address, residency::page_bytes, end.time);
    event.to = end.processor;
    for (tools::Throttling& slot : throttled_)
        if (slot.time != 0 && slot.processor == end.processor) {
            event.start = std::min(slot.time, end.time);
            event.duration = end.time - event.start;
            slot.time = 0;
        }
    write(to, event);
}

void ManagedDecoder::take(const tools::Entry& entry, Write write, void* to) noexcept {
    switch (static_cast<tools::EventType>(entry.bytes[0])) {
    case tools::EventType::host_fault:
        host_faults_.take(host_fault(as<tools::HostFault>(entry)), 0, write, to);
        break;
    case tools::EventType::device_fault: {
        const auto from = as<tools::DeviceFault>(entry);
        device_faults_.take(device_fault(from), from.batch, write, to);
        break;
    }
    case tools::EventType::migration:
        write(to, migration(as<tools::Migration>(entry)));
        break;
    case tools::EventType::thrashing: {
        const auto from = as<tools::Thrashing>(entry);
        write(to, region(ManagedEventKind::thrashing, from.address, from.bytes, from.time));
        break;
    }
    case tools::EventType::throttling_start:
        begin_throttling(as<tools::Throttling>(entry));
        break;
    case tools::EventType::throttling_end:
        end_throttling(as<tools::Throttling>(entry), write, to);
        break;
    case tools::EventType::remote_map: {
        const auto from = as<tools::RemoteMap>(entry);
        ManagedEvent event = region(ManagedEventKind::remote_map, from.address, from.bytes, from.time);
        event.from = from.holder;
        event.to = from.processor;
        event.cause = from.cause;
        write(to, event);
        break;
    }
    case tools::EventType::read_duplicate: {
        const auto from = as<tools::Thrashing>(entry);
        write(to, region(ManagedEventKind::read_duplicate, from.address, from.bytes, from.time));
        break;
    }
    case tools::EventType::read_duplicate_end: {
        const auto from = as<tools::ReadDuplicateEnd>(entry);
        ManagedEvent event = region(ManagedEventKind::read_duplicate_end, from.address, from.bytes, from.time);
        event.to = from.resident;
        write(to, event);
        break;
    }
    default: // a type of a later driver, or one that was not enabled
        break;
    }
}

void ManagedDecoder::finish(Write write, void* to) noexcept {
    host_faults_.finish(write, to);
    device_faults_.finish(write, to);
}

} // namespace umadvisor::observe
