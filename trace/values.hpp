/// The enumerations that records carry. Numbers are part of the format: never changed, only added.
#pragma once

#include <cstdint>
#include <string_view>

namespace umadvisor::trace {

/// What a byte of memory is to CUDA. The names are those of CUPTI's memory kinds.
enum class Memory : std::uint8_t {
    unknown = 0,
    pageable = 1,   ///< host memory the driver does not know
    pinned = 2,     ///< cuMemHostAlloc, cuMemAllocHost
    registered = 3, ///< cuMemHostRegister
    device = 4,
    managed = 5,
    array = 6,
};

/// Whose call it was.
enum class Origin : std::uint8_t {
    program = 0,
    umadvisor = 1, ///< an action of ours; never counts as the program's own call
};

enum class SyncKind : std::uint8_t { context = 0, stream = 1, event = 2, stream_query = 3, event_query = 4 };
enum class StreamAction : std::uint8_t {
    create = 0,
    destroy = 1,
    wait_event = 2,
    context_wait_event = 3, ///< all streams of a context
    wait_value = 4,
    write_value = 5,
    memory_operations = 6, ///< a batch of waits and writes
};
enum class EventAction : std::uint8_t { create = 0, destroy = 1, record = 2, record_context = 3 };
enum class ModuleAction : std::uint8_t { load = 0, unload = 1 };

enum class VirtualMemoryAction : std::uint8_t {
    reserve = 0,
    free = 1, ///< of addresses
    create = 2,
    release = 3,
    retain = 4, ///< cuMemRetainAllocationHandle
    map = 5,
    unmap = 6,
    set_access = 7,
    export_handle = 8,
    import_handle = 9,
    map_array = 10, ///< or unmap: parts of sparse arrays, `bytes` of them
};

enum class PoolAction : std::uint8_t {
    create = 0,
    destroy = 1,
    trim = 2,
    set_access = 3,
    set_attribute = 4,
    get = 5, ///< the default or current pool of a location was asked for
    set = 6, ///< made the current pool of a location
    export_pool = 7,
    import_pool = 8,
    export_pointer = 9,
    import_pointer = 10,
};

enum class ContextAction : std::uint8_t {
    create = 0, ///< and current
    destroy = 1,
    set_current = 2, ///< by any call; recorded when it is another than the thread's last
    retain_primary = 3,
    release_primary = 4,
    reset_primary = 5,
    create_green = 6,
    destroy_green = 7,
    from_green = 8,
    set_flags = 9, ///< of a primary context, by its device, or of the current one
};

enum class PeerAction : std::uint8_t { enable = 0, disable = 1 };

enum class IpcAction : std::uint8_t {
    export_memory = 0,
    open_memory = 1,
    close_memory = 2,
    export_event = 3,
    open_event = 4,
};

enum class ExternalAction : std::uint8_t { import_memory = 0, map_buffer = 1, map_array = 2, destroy = 3 };

/// What a node of a graph does. `child` and `conditional` hold other nodes; those below a conditional run as
/// often as the device decides, or never.
enum class GraphNodeKind : std::uint8_t {
    version = 0, ///< node 0
    kernel = 1,
    copy = 2,
    set = 3,
    alloc = 4,
    free = 5,
    child = 6,
    conditional = 7,
    host_function = 8,
    event_record = 9,
    event_wait = 10,
    empty = 11,
    other = 12,  ///< external semaphores, batched memory operations, and what is newer
    toggle = 13, ///< what the node was, but for `disabled`
};

enum class GraphAction : std::uint8_t {
    instantiate = 0,
    update = 1,
    destroy = 2,
    begin_capture = 3,
    end_capture = 4,
};

/// cuda.h, CUmemLocationType; `host` stands for the legacy CU_DEVICE_CPU too.
enum class Location : std::uint8_t { none = 0, device = 1, host = 2, host_numa = 3, host_numa_current = 4 };

/// Why recording began, ended or went on.
enum class PauseCause : std::uint8_t {
    start = 0,
    capture_range = 1,
    delay = 2,
    duration = 3,
    standby = 4,  ///< the program was started to be recorded on request
    attach = 5,   ///< a request of `umadvisor attach`
    trigger = 6,  ///< a condition held (UMADVISOR_WHEN)
    ring = 7,     ///< only the last part is kept
    snapshot = 8, ///< what is alive, and nothing else
};

/// NVTX: push and pop nest within a thread; start and end belong together by their id.
enum class RangeAction : std::uint8_t { push = 0, pop = 1, start = 2, end = 3, mark = 4 };

/// How a Python code object maps its instructions to lines; which way follows from the version.
enum class LineTable : std::uint8_t {
    none = 0,
    increments = 1, ///< 3.9, co_lnotab
    ranges = 2,     ///< 3.10, co_linetable (PEP 626)
    locations = 3,  ///< from 3.11 on, co_linetable
};

/// When a residency sample was recorded.
enum class SampleMoment : std::uint8_t {
    before_launch = 0,
    after_synchronize = 1,
    before_prefetch = 2, ///< of the program, to a device
    before_free = 3,
};

/// Whether a kernel could have made what memory holds.
enum class Regularity : std::uint8_t { unknown = 0, irregular = 1, regular = 2 };

/// The source of managed memory's events.
enum class ManagedSourceKind : std::uint8_t {
    none = 0,
    pagemap = 1, ///< /proc/self/pagemap, now and then: Residency records
    queue = 2,   ///< the driver's tools queue
    cupti = 3,   ///< CUPTI's unified-memory counters
};

/// What happened to managed memory. The names are those of the driver's tools interface and CUPTI. An eviction
/// is a migration of that cause.
enum class ManagedEventKind : std::uint8_t {
    host_fault = 1,
    device_fault = 2,
    migration = 3,
    thrashing = 4,          ///< the driver has found that processors take the memory from each other
    throttling = 5,         ///< it let a processor wait for that
    remote_map = 6,         ///< a processor may now reach memory that stays elsewhere
    read_duplicate = 7,     ///< both ends have a copy
    read_duplicate_end = 8, ///< a write left one of them
};

/// The names and numbers of CUPTI's UnifiedMemoryMigrationCause.
enum class MigrationCause : std::uint8_t {
    unknown = 0,
    user = 1, ///< prefetch calls
    coherence = 2,
    prefetch = 3, ///< by the driver, along with a fault
    eviction = 4,
    access_counters = 5,
};

/// The names and numbers of the driver's UvmEventMapRemoteCause.
enum class RemoteMapCause : std::uint8_t {
    unknown = 0,
    coherence = 1,
    thrashing = 2,
    policy = 3, ///< cuMemAdvise
    out_of_memory = 4,
    eviction = 5,
};

/// How memory was reached that was not there.
enum class FaultAccess : std::uint8_t { unknown = 0, read = 1, write = 2, atomic = 3, prefetch = 4 };

/// What a host address range is, from /proc/self/maps.
enum class HostRangeKind : std::uint8_t {
    unknown = 0,
    heap = 1,
    mapping = 2,
    stack = 3,
    file = 4,
    program = 5,
    shared = 6
};

/// Why umadvisor did something by itself, or refused to. act.def says what each means.
enum class Reason : std::uint8_t {
#define REASON(number, name, action) name = number,
#include "trace/act.def"
};

inline std::string_view name(Memory memory) {
    constexpr std::string_view names[] = {"unknown", "pageable", "pinned", "registered",
                                          "device",  "managed",  "array"};
    return static_cast<std::size_t>(memory) < std::size(names) ? names[static_cast<std::size_t>(memory)]
                                                               : "unknown";
}

inline std::string_view name(HostRangeKind kind) {
    constexpr std::string_view names[] = {"unknown", "heap", "mapping", "stack", "file", "program", "shared"};
    return static_cast<std::size_t>(kind) < std::size(names) ? names[static_cast<std::size_t>(kind)]
                                                             : "unknown";
}

} // namespace umadvisor::trace
