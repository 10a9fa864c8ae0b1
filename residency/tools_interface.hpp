/// The tools interface of the driver's unified-memory module, /dev/nvidia-uvm-tools: what it writes into memory
/// of the process that asks. The layouts are those of NVIDIA's open kernel modules (nvidia-uvm/uvm_types.h and
/// uvm_ioctl.h, MIT licence). The branches that driver_branches.hpp names for it agree in all that stands here.
/// Private to the driver: whoever uses it checks the branch first.
#pragma once

#include <cstddef>
#include <cstdint>

namespace umadvisor::residency::tools {

/// The first byte of each entry of the ring.
enum class EventType : std::uint8_t {
    host_fault = 1,
    migration = 2,
    device_fault = 3,
    device_fault_replay = 4,
    fault_buffer_overflow = 5,
    fatal_fault = 6,
    read_duplicate = 7,
    read_duplicate_end = 8,
    page_size_change = 9,
    thrashing = 10,
    throttling_start = 11,
    throttling_end = 12,
    remote_map = 13,
    eviction = 14, ///< never written by these branches: evictions are migrations of that cause
};
inline constexpr std::size_t event_types = 64; ///< counters of lost events in Control

constexpr std::uint64_t flag(EventType type) {
    return std::uint64_t{1} << static_cast<unsigned>(type);
}

// Times are nanoseconds of CLOCK_MONOTONIC_RAW. Processors are numbered by the module: 0 is the host.

struct HostFault {
    EventType type;
    std::uint8_t access;
    std::uint16_t padding;
    std::uint32_t cpu;
    std::uint64_t address;
    std::uint64_t time;
    std::uint32_t process;
    std::uint32_t thread;
    std::uint64_t program_counter;
};

struct Migration {
    EventType type;
    std::uint8_t cause;
    std::uint16_t padding;
    std::uint16_t from, to;
    std::int32_t from_node, to_node;
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t begin, end; ///< queued on the device; found to be finished
    std::uint64_t range_group;
    std::uint64_t device_begin, device_end;
};

struct DeviceFault {
    EventType type;
    std::uint8_t fault;
    std::uint16_t device;
    std::uint16_t unit;
    std::uint16_t client;
    std::uint64_t address;
    std::uint64_t time;        ///< when the host began to handle it
    std::uint64_t device_time; ///< when it was written to the fault buffer
    std::uint32_t batch;
    std::uint8_t client_type;
    std::uint8_t access;
    std::uint16_t padding;
};

/// Also read_duplicate.
struct Thrashing {
    EventType type;
    std::uint8_t padding[7];
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t time;
    std::uint64_t processors[5]; ///< one bit each
};

struct ReadDuplicateEnd {
    EventType type;
    std::uint8_t padding;
    std::uint16_t resident; ///< holds the only copy now
    std::uint32_t more_padding;
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t time;
};

/// Start and end of one wait.
struct Throttling {
    EventType type;
    std::uint8_t padding;
    std::uint16_t processor;
    std::uint32_t more_padding;
    std::uint64_t address;
    std::uint64_t time;
};

struct RemoteMap {
    EventType type;
    std::uint8_t cause;
    std::uint16_t padding;
    std::uint16_t processor; ///< that may reach the memory now
    std::uint16_t holder;    ///< where it is
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t time;
    std::uint64_t device_time;
};

/// An entry of the ring: one of the above and zeros (UvmEventEntry_V2).
struct Entry {
    alignas(8) std::uint8_t bytes[72];
};

static_assert(sizeof(HostFault) == 40 && sizeof(Migration) == 72 && sizeof(DeviceFault) == 40 &&
              sizeof(Thrashing) == 72 && sizeof(ReadDuplicateEnd) == 32 && sizeof(Throttling) == 24 &&
              sizeof(RemoteMap) == 40 && sizeof(Entry) == 72);

/// Beside the ring (UvmToolsEventControlData). Entries from get to put are there to be read; indices run from 0
/// to the ring's size less one. The module writes put and lost, the reader get; of each pair both are set
/// alike.
struct Control {
    std::uint32_t get_ahead, get_behind;
    std::uint32_t put_ahead, put_behind;
    std::uint64_t lost[event_types]; ///< that found the ring full, by type
};
static_assert(sizeof(Control) == 528);

/// Indices of the counters (UvmCounterName).
enum Counter : unsigned {
    bytes_to_device = 0,
    bytes_to_host = 1,
    host_faults = 2,
    device_faults = 9,
    counters,
};

// Commands of the device. Each answers in `status`, NV_OK being 0, and the ioctl itself returns 0 where it came
// so far.

/// UVM_TOOLS_INIT_EVENT_TRACKER_V2. With `entries` a ring of so many, a power of two; without, an array of
/// counters, which `control` points to.
struct InitTracker {
    static constexpr unsigned long command = 76;
    std::uint64_t ring;
    std::uint64_t entries;
    std::uint64_t control;
    std::uint8_t processor[16];
    std::uint32_t all_processors;
    std::uint32_t uvm_descriptor; ///< of the process whose memory it is
    std::uint32_t status;
    std::uint32_t padding;
};
static_assert(sizeof(InitTracker) == 56);

/// What the four commands that switch events and counters take.
struct Switch {
    static constexpr unsigned long enable_events = 58;
    static constexpr unsigned long disable_events = 59;
    static constexpr unsigned long enable_counters = 60;
    static constexpr unsigned long disable_counters = 61;
    std::uint64_t flags;
    std::uint32_t status;
    std::uint32_t padding;
};
static_assert(sizeof(Switch) == 16);

/// UVM_TOOLS_FLUSH_EVENTS, on a descriptor of /dev/nvidia-uvm: events of finished work are in the ring when it
/// returns.
struct Flush {
    static constexpr unsigned long command = 67;
    std::uint32_t status;
};

/// UVM_TOOLS_GET_PROCESSOR_UUID_TABLE_V2, on a descriptor of /dev/nvidia-uvm.
struct ProcessorTable {
    static constexpr unsigned long command = 77;
    static constexpr std::size_t processors = 257;
    std::uint64_t table; ///< `processors` times 16 bytes
    std::uint32_t status;
    std::uint32_t padding;
};

} // namespace umadvisor::residency::tools
