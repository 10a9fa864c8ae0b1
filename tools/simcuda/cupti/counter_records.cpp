#include "tools/simcuda/cupti/counter_records.hpp"

#include <unistd.h>

#include <cstring>

namespace simcuda {

namespace {

using cupti::CounterKind;
using tools::EventType;

constexpr std::uint16_t host = 0; ///< as the module numbers it

template <class Layout>
Layout as(const tools::Entry& entry) {
    Layout layout;
    std::memcpy(&layout, entry.bytes, sizeof layout);
    return layout;
}

std::uint32_t id(std::uint16_t processor) {
    return processor == host ? cupti::host_id : processor - 1u;
}

cupti::CounterRecord record(CounterKind kind, std::uint64_t value, std::uint64_t start, std::uint64_t address,
                            std::uint32_t flags) {
    cupti::CounterRecord made{};
    made.kind = cupti::unified_memory_counter;
    made.counter_kind = kind;
    made.value = value;
    made.start = made.end = start;
    made.address = address;
    made.process = static_cast<std::uint32_t>(getpid());
    made.flags = flags;
    return made;
}

cupti::CounterRecord migrated(const tools::Migration& from) {
    const CounterKind kind = from.from == host ? CounterKind::bytes_to_device
                             : from.to == host ? CounterKind::bytes_to_host
                                               : CounterKind::bytes_between_devices;
    auto made = record(kind, from.bytes, from.device_begin, from.address, from.cause);
    made.end = from.device_end;
    made.source = id(from.from);
    made.destination = id(from.to);
    return made;
}

} // namespace

std::uint64_t CounterRecords::wanted_events() {
    return tools::flag(EventType::host_fault) | tools::flag(EventType::device_fault) |
           tools::flag(EventType::migration) | tools::flag(EventType::thrashing) |
           tools::flag(EventType::throttling_start) | tools::flag(EventType::throttling_end) |
           tools::flag(EventType::remote_map);
}

std::optional<cupti::CounterRecord> CounterRecords::take(const tools::Entry& entry) {
    switch (static_cast<EventType>(entry.bytes[0])) {
    case EventType::host_fault: {
        const auto from = as<tools::HostFault>(entry);
        return record(CounterKind::host_fault, from.program_counter, from.time, from.address, from.access);
    }
    case EventType::device_fault: {
        const auto from = as<tools::DeviceFault>(entry);
        auto made = record(CounterKind::device_fault, 1, from.time, from.address, from.access);
        made.source = id(from.device);
        return made;
    }
    case EventType::migration:
        return migrated(as<tools::Migration>(entry));
    case EventType::thrashing: {
        const auto from = as<tools::Thrashing>(entry);
        auto made = record(CounterKind::thrashing, from.bytes, from.time, from.address,
                           static_cast<std::uint32_t>(from.processors[0] & cupti::on_host));
        made.source = static_cast<std::uint32_t>(from.processors[0] >> 1);
        return made;
    }
    case EventType::throttling_start: {
        const auto from = as<tools::Throttling>(entry);
        throttled_since_[from.processor] = from.time;
        return std::nullopt;
    }
    case EventType::throttling_end: {
        const auto from = as<tools::Throttling>(entry);
        auto made = record(CounterKind::throttling, 0, throttled_since_[from.processor], from.address,
                           from.processor == host ? cupti::on_host : 0);
        made.end = from.time;
        made.source = id(from.processor);
        return made;
    }
    case EventType::remote_map: {
        const auto from = as<tools::RemoteMap>(entry);
        auto made = record(CounterKind::remote_map, from.bytes, from.time, from.address, from.cause);
        made.source = id(from.processor);
        made.destination = id(from.holder);
        return made;
    }
    default:
        return std::nullopt;
    }
}

} // namespace simcuda
