#include "analyzer/managed/managed_tally.hpp"

namespace umadvisor::managed {
namespace {

using reader::add_saturated;

template <std::size_t N>
std::uint64_t& slot(std::array<std::uint64_t, N>& counts, std::uint64_t number) {
    return counts[number < N ? number : 0];
}

template <std::size_t N>
void add_each(std::array<std::uint64_t, N>& to, const std::array<std::uint64_t, N>& from) {
    for (std::size_t i = 0; i < N; ++i)
        add_saturated(to[i], from[i]);
}

} // namespace

MoveDirection direction_of(const trace::ManagedEvent& event) {
    return event.to == 0     ? MoveDirection::to_host
           : event.from == 0 ? MoveDirection::to_device
                             : MoveDirection::between_devices;
}

void ManagedTally::add(const trace::ManagedEvent& event) {
    using Kind = trace::ManagedEventKind;
    ++events;
    switch (event.kind) {
    case Kind::host_fault:
        add_saturated(slot(host_faults, event.cause), faults_of(event));
        break;
    case Kind::device_fault:
        add_saturated(slot(device_faults, event.cause), faults_of(event));
        break;
    case Kind::migration: {
        const MoveDirection direction = direction_of(event);
        add_saturated(direction == MoveDirection::to_host     ? slot(to_host, event.cause)
                      : direction == MoveDirection::to_device ? slot(to_device, event.cause)
                                                              : between_devices,
                      event.bytes);
        break;
    }
    case Kind::thrashing:
        ++thrashings;
        add_saturated(thrashing_bytes, event.bytes);
        break;
    case Kind::throttling:
        ++throttlings;
        add_saturated(throttled_ticks, event.duration);
        break;
    case Kind::remote_map:
        add_saturated(slot(remote_bytes, event.cause), event.bytes);
        break;
    case Kind::read_duplicate:
        add_saturated(read_duplicated_bytes, event.bytes);
        break;
    case Kind::read_duplicate_end:
        break;
    }
}

void ManagedTally::add(const ManagedTally& other) {
    add_saturated(events, other.events);
    add_each(to_device, other.to_device);
    add_each(to_host, other.to_host);
    add_saturated(between_devices, other.between_devices);
    add_each(host_faults, other.host_faults);
    add_each(device_faults, other.device_faults);
    add_saturated(thrashings, other.thrashings);
    add_saturated(thrashing_bytes, other.thrashing_bytes);
    add_saturated(throttlings, other.throttlings);
    add_saturated(throttled_ticks, other.throttled_ticks);
    add_each(remote_bytes, other.remote_bytes);
    add_saturated(read_duplicated_bytes, other.read_duplicated_bytes);
}

std::string_view migration_cause_name(std::size_t cause) {
    constexpr std::array<std::string_view, migration_causes> names{"unknown",  "user",     "coherence",
                                                                   "prefetch", "eviction", "access_counters"};
    return names[cause < names.size() ? cause : 0];
}

std::string_view fault_access_name(std::size_t access) {
    constexpr std::array<std::string_view, fault_accesses> names{"unknown", "read", "write", "atomic",
                                                                 "prefetch"};
    return names[access < names.size() ? access : 0];
}

std::string_view remote_map_cause_name(std::size_t cause) {
    constexpr std::array<std::string_view, remote_map_causes> names{"unknown", "coherence",     "thrashing",
                                                                    "policy",  "out_of_memory", "eviction"};
    return names[cause < names.size() ? cause : 0];
}

} // namespace umadvisor::managed
