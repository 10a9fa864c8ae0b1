/// The words of a record's enumerations, as trace/values.hpp has them. Each has its own: one that has none does
/// not compile.
#pragma once

#include "trace/values.hpp"

#include <array>
#include <string_view>

namespace umadvisor::reports {

template <class Enumeration>
constexpr auto words_of = nullptr;

template <>
inline constexpr auto words_of<trace::SyncKind> =
    std::to_array<std::string_view>({"context", "stream", "event", "stream_query", "event_query"});

template <>
inline constexpr auto words_of<trace::StreamAction> =
    std::to_array<std::string_view>({"create", "destroy", "wait_event", "context_wait_event", "wait_value",
                                     "write_value", "memory_operations"});

template <>
inline constexpr auto words_of<trace::ManagedSourceKind> = std::to_array<std::string_view>({"none", "pagemap",
                                                                                            "queue", "cupti"});

template <>
inline constexpr auto words_of<trace::ManagedEventKind> =
    std::to_array<std::string_view>({"unknown", "host_fault", "device_fault", "migration", "thrashing",
                                     "throttling", "remote_map", "read_duplicate", "read_duplicate_end"});

template <>
inline constexpr auto words_of<trace::EventAction> =
    std::to_array<std::string_view>({"create", "destroy", "record", "record_context"});

template <>
inline constexpr auto words_of<trace::ModuleAction> = std::to_array<std::string_view>({"load", "unload"});

template <>
inline constexpr auto words_of<trace::VirtualMemoryAction> =
    std::to_array<std::string_view>({"reserve", "free", "create", "release", "retain", "map", "unmap",
                                     "set_access", "export_handle", "import_handle", "map_array"});

template <>
inline constexpr auto words_of<trace::PoolAction> =
    std::to_array<std::string_view>({"create", "destroy", "trim", "set_access", "set_attribute", "get", "set",
                                     "export_pool", "import_pool", "export_pointer", "import_pointer"});

template <>
inline constexpr auto words_of<trace::ContextAction> = std::to_array<std::string_view>(
    {"create", "destroy", "set_current", "retain_primary", "release_primary", "reset_primary", "create_green",
     "destroy_green", "from_green", "set_flags"});

template <>
inline constexpr auto words_of<trace::PauseCause> = std::to_array<std::string_view>(
    {"start", "capture_range", "delay", "duration", "standby", "attach", "trigger", "ring", "snapshot"});

template <>
inline constexpr auto words_of<trace::RangeAction> = std::to_array<std::string_view>({"push", "pop", "start",
                                                                                      "end", "mark"});

template <>
inline constexpr auto words_of<trace::PeerAction> = std::to_array<std::string_view>({"enable", "disable"});

template <>
inline constexpr auto words_of<trace::IpcAction> = std::to_array<std::string_view>(
    {"export_memory", "open_memory", "close_memory", "export_event", "open_event"});

template <>
inline constexpr auto words_of<trace::ExternalAction> =
    std::to_array<std::string_view>({"import_memory", "map_buffer", "map_array", "destroy"});

template <>
inline constexpr auto words_of<trace::Location> =
    std::to_array<std::string_view>({"none", "device", "host", "host_numa", "host_numa_current"});

template <>
inline constexpr auto words_of<trace::GraphNodeKind> = std::to_array<std::string_view>(
    {"version", "kernel", "copy", "set", "alloc", "free", "child", "conditional", "host_function",
     "event_record", "event_wait", "empty", "other", "toggle"});

template <>
inline constexpr auto words_of<trace::GraphAction> =
    std::to_array<std::string_view>({"instantiate", "update", "destroy", "begin_capture", "end_capture"});

template <>
inline constexpr auto words_of<trace::LineTable> = std::to_array<std::string_view>({"none", "increments",
                                                                                    "ranges", "locations"});

template <>
inline constexpr auto words_of<trace::SampleMoment> =
    std::to_array<std::string_view>({"before_launch", "after_synchronize", "before_prefetch", "before_free"});

template <>
inline constexpr auto words_of<trace::Regularity> = std::to_array<std::string_view>({"unknown", "irregular",
                                                                                     "regular"});

template <>
inline constexpr auto words_of<trace::Reason> = std::to_array<std::string_view>({
#define REASON(number, name, action) #name,
#include "trace/act.def"
});
#define REASON(number, name, action) static_assert(words_of<trace::Reason>[number] == #name);
#include "trace/act.def"

template <>
inline constexpr auto words_of<trace::Memory> = std::to_array<std::string_view>({"unknown", "pageable",
                                                                                 "pinned", "registered",
                                                                                 "device", "managed", "array"});

template <>
inline constexpr auto words_of<trace::Origin> = std::to_array<std::string_view>({"program", "umadvisor"});

template <>
inline constexpr auto words_of<trace::HostRangeKind> =
    std::to_array<std::string_view>({"unknown", "heap", "mapping", "stack", "file", "program", "shared"});

template <>
inline constexpr auto words_of<trace::MigrationCause> = std::to_array<std::string_view>(
    {"unknown", "user", "coherence", "prefetch", "eviction", "access_counters"});

template <>
inline constexpr auto words_of<trace::RemoteMapCause> = std::to_array<std::string_view>(
    {"unknown", "coherence", "thrashing", "policy", "out_of_memory", "eviction"});

template <>
inline constexpr auto words_of<trace::FaultAccess> =
    std::to_array<std::string_view>({"unknown", "read", "write", "atomic", "prefetch"});

} // namespace umadvisor::reports
