#include "tools/simcuda/driver/tools_events.hpp"
#include "tools/simcuda/driver/tools_queue.hpp"

#include <unistd.h>

namespace simcuda {

namespace {

using tools::EventType;

// The module's own numbers (uvm_types.h): UvmEventMemoryAccessType, UvmFaultType, UvmEventFaultClientType and
// UvmEventMapRemoteCause. Those of migration causes are the model's.
constexpr std::uint8_t read_access = 1;
constexpr std::uint8_t write_access = 2;
constexpr std::uint8_t invalid_page = 2;
constexpr std::uint8_t write_to_read_only = 3;
constexpr std::uint8_t graphics_client = 1;
constexpr std::uint8_t by_thrashing = 2;
constexpr std::uint8_t by_policy = 3;

constexpr std::int32_t no_node = -1; ///< NUMA_NO_NODE

std::uint8_t access_type(residency::Access access) {
    return access == residency::Access::write ? write_access : read_access;
}

std::uint16_t number(residency::Processor who) {
    return static_cast<std::uint16_t>(who);
}

/// The module tells of thrashing and of duplicates page by page.
void record_pages(EventType type, std::uint64_t address, std::uint64_t bytes, std::uint64_t time,
                  residency::ProcessorSet processors) {
    for (std::uint64_t at = address; trackers().wanted(type) && at < address + bytes;
         at += residency::page_bytes) {
        trackers().record(tools::Thrashing{type, {}, at, residency::page_bytes, time, {processors}});
    }
}

} // namespace

void ToolsEvents::host_fault(const residency::HostFault& fault) {
    trackers().record(tools::HostFault{EventType::host_fault, access_type(fault.access), 0, 0, fault.address,
                                       fault.time, static_cast<std::uint32_t>(getpid()), thread_.id,
                                       thread_.program_counter});
    trackers().count(tools::host_faults, 1, processor_uuid(residency::host_processor));
}

void ToolsEvents::device_fault(const residency::DeviceFault& fault) {
    trackers().record(tools::DeviceFault{
        EventType::device_fault, fault.mapped ? write_to_read_only : invalid_page, number(fault.who), 0, 0,
        fault.address, fault.time, fault.time, static_cast<std::uint32_t>(fault.group), graphics_client,
        access_type(fault.access), 0});
    trackers().count(tools::device_faults, 1, processor_uuid(fault.who));
}

void ToolsEvents::migrated(const residency::Migration& migration) {
    const auto node = [](residency::Processor who) { return who == residency::host_processor ? 0 : no_node; };
    trackers().record(tools::Migration{EventType::migration, static_cast<std::uint8_t>(migration.cause), 0,
                                       number(migration.from), number(migration.to), node(migration.from),
                                       node(migration.to), migration.address, migration.bytes, migration.begin,
                                       migration.end, 0, migration.begin, migration.end});
    if (migration.from == residency::host_processor) {
        trackers().count(tools::bytes_to_device, migration.bytes, processor_uuid(migration.to));
    } else if (migration.to == residency::host_processor) {
        trackers().count(tools::bytes_to_host, migration.bytes, processor_uuid(migration.from));
    }
}

void ToolsEvents::thrashing_found(const residency::Thrashing& found) {
    record_pages(EventType::thrashing, found.address, found.bytes, found.time, found.processors);
}

void ToolsEvents::throttled(const residency::Throttling& wait) {
    trackers().record(
        tools::Throttling{EventType::throttling_start, 0, number(wait.who), 0, wait.address, wait.begin});
    trackers().record(
        tools::Throttling{EventType::throttling_end, 0, number(wait.who), 0, wait.address, wait.end});
}

void ToolsEvents::remote_mapped(const residency::RemoteMapping& mapping) {
    const bool thrashing = mapping.cause == residency::RemoteMapping::Cause::thrashing;
    trackers().record(tools::RemoteMap{EventType::remote_map, thrashing ? by_thrashing : by_policy, 0,
                                       number(mapping.who), number(mapping.holder), mapping.address,
                                       mapping.bytes, mapping.time, mapping.time});
}

void ToolsEvents::read_duplicated(const residency::ReadDuplicate& made) {
    record_pages(EventType::read_duplicate, made.address, made.bytes, made.time, made.holders);
}

void ToolsEvents::read_duplicate_ended(const residency::ReadDuplicateEnd& end) {
    for (std::uint64_t at = end.address;
         trackers().wanted(EventType::read_duplicate_end) && at < end.address + end.bytes;
         at += residency::page_bytes) {
        trackers().record(tools::ReadDuplicateEnd{EventType::read_duplicate_end, 0, number(end.holder), 0, at,
                                                  residency::page_bytes, end.time});
    }
}

} // namespace simcuda
