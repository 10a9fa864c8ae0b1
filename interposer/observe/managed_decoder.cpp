#include "interposer/observe/managed_decoder.hpp"

#include "residency/geometry.hpp"

#include <algorithm>
#include <cstring>

namespace umadvisor::observe {

namespace tools = residency::tools;
using trace::ManagedEvent;
using trace::ManagedEventKind;

namespace {

constexpr std::uint64_t together_ns = 100'000; ///< faults further apart are two events

template <class Layout>
Layout as(const tools::Entry& entry) {
    Layout layout;
    static_assert(sizeof layout <= sizeof entry);
    std::memcpy(&layout, entry.bytes, sizeof layout);
    return layout;
}

std::uint64_t page_of(std::uint64_t address) {
    return address & ~(residency::page_bytes - 1);
}

ManagedEvent host_fault(const tools::HostFault& from) {
    ManagedEvent event;
    event.kind = ManagedEventKind::host_fault;
    event.start = from.time;
    event.address = from.address;
    event.bytes = page_of(from.address) + residency::page_bytes - from.address;
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
    event.bytes = page_of(from.address) + residency::page_bytes - from.address;
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

/// A page that faults once more has been taken away in between, which is an event of its own; unless several
/// multiprocessors asked for it at the same time, which one batch tells.
void ManagedDecoder::take_fault(const ManagedEvent& fault, std::uint32_t batch, Waiting& last, Write write,
                                void* to) noexcept {
    ManagedEvent& event = last.event;
    const bool again = fault.address >= event.address && fault.address < event.address + event.bytes;
    if (last.used && event.cause == fault.cause && event.code == fault.code && event.thread == fault.thread &&
        event.to == fault.to &&
        residency::block_number(event.address) == residency::block_number(fault.address) &&
        fault.start - event.start < together_ns && (!again || (batch != 0 && batch == last.batch))) {
        const std::uint64_t end = std::max(event.address + event.bytes, fault.address + fault.bytes);
        event.address = std::min(event.address, fault.address);
        event.bytes = end - event.address;
        ++event.count;
        return;
    }
    if (last.used)
        write(to, event);
    last = {fault, batch, true};
}

void ManagedDecoder::begin_throttling(const tools::Throttling& start) noexcept {
    for (tools::Throttling& place : throttled_)
        if (place.time == 0 || place.processor == start.processor) {
            place = start;
            return;
        }
}

void ManagedDecoder::end_throttling(const tools::Throttling& end, Write write, void* to) noexcept {
    ManagedEvent event = region(ManagedEventKind::throttling, end.address, residency::page_bytes, end.time);
    event.to = end.processor;
    for (tools::Throttling& place : throttled_)
        if (place.time != 0 && place.processor == end.processor) {
            event.start = std::min(place.time, end.time);
            event.duration = end.time - event.start;
            place.time = 0;
        }
    write(to, event);
}

void ManagedDecoder::take(const tools::Entry& entry, Write write, void* to) noexcept {
    switch (static_cast<tools::EventType>(entry.bytes[0])) {
    case tools::EventType::host_fault:
        take_fault(host_fault(as<tools::HostFault>(entry)), 0, host_fault_, write, to);
        break;
    case tools::EventType::device_fault: {
        const auto from = as<tools::DeviceFault>(entry);
        take_fault(device_fault(from), from.batch, device_fault_, write, to);
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
    default: // newer than this, or nobody asked for it
        break;
    }
}

void ManagedDecoder::finish(Write write, void* to) noexcept {
    for (Waiting* const last : {&host_fault_, &device_fault_})
        if (last->used) {
            write(to, last->event);
            last->used = false;
        }
}

} // namespace umadvisor::observe
