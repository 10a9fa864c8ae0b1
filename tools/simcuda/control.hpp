#pragma once

#include <cstdint>

/// What tests read from and poke into a loaded simcuda. Plain data, C linkage, no CUDA headers needed.
namespace simcuda {

enum CopyDirection : unsigned {
    host_to_device,
    device_to_host,
    device_to_device,
    host_to_host,
    copy_directions
};
enum MemoryClass : unsigned {
    pageable,
    pinned,
    registered,
    device_memory,
    managed,
    array_memory,
    memory_classes
};

inline constexpr const char* copy_direction_names[copy_directions] = {"HtoD", "DtoH", "DtoD", "HtoH"};
inline constexpr const char* memory_class_names[memory_classes] = {"pageable", "pinned",  "registered",
                                                                   "device",   "managed", "array"};

struct CopyTotal {
    std::uint64_t calls;
    std::uint64_t bytes;
};

/// Answer `result` instead of the n-th call (from 1, counted from when the failure is set) of an exported entry
/// point. nth 0: every call. Set `entry` last.
struct Failure {
    std::uint64_t nth;
    std::uint64_t seen;
    int result;
    char entry[64];
};

/// Counters of this process. The unified-memory figures are those of the residency model.
struct Control {
    std::uint64_t bytes; ///< sizeof(Control) of the library: compare before use

    CopyTotal copies[copy_directions][memory_classes]
                    [memory_classes]; ///< by direction, source and target class
    CopyTotal sets;
    std::uint64_t launches;
    std::uint64_t synchronizations;
    std::uint64_t captured_operations;
    std::uint64_t unsupported_calls; ///< calls of entry points that simcuda does not implement
    std::uint64_t illegal_addresses; ///< kernel accesses outside any allocation

    std::uint64_t host_faults;
    std::uint64_t device_fault_groups;
    std::uint64_t
        bytes_to_device[6]; ///< by migration cause: unknown, user, coherence, prefetch, eviction, counters
    std::uint64_t bytes_to_host[6];
    std::uint64_t bytes_between_devices;
    std::uint64_t bytes_remote_mapped;
    std::uint64_t prefetch_calls;
    std::uint64_t evicted_blocks;
    std::uint64_t thrashing_pages;
    std::uint64_t throttlings;

    std::uint64_t allocated_device_bytes; ///< live, all devices
    std::uint64_t allocated_managed_bytes;
    std::uint64_t allocated_pinned_bytes;

    Failure failures[8];
};

} // namespace simcuda

extern "C" {
/// The live counters, brought up to date by the call. Thread-safe; reading while other threads call CUDA gives
/// a mix.
simcuda::Control* simcuda_get(void);
/// Calls of one exported entry point so far; 0 for an unknown name.
std::uint64_t simcuda_calls(const char* entry);
/// The virtual clock in nanoseconds: monotonic, thread-safe, advanced only by what CUDA calls and faults cost.
std::uint64_t simcuda_clock_ns(void);
/// Advances the virtual clock, as computing on the host would.
void simcuda_advance_ns(std::uint64_t nanoseconds);
/// The driver's tools device: what open(2), ioctl(2) and close(2) are to /dev/nvidia-uvm-tools. The commands
/// and their parameters are those of residency/tools_interface.hpp, and command 0 closes. InitTracker takes no
/// tracker and answers the number of a new one, from 1 on, or 0 if its status tells of an error; all others
/// answer 0. -1 with errno: EBADF no such tracker, or a forked child; EINVAL no such command; EFAULT no
/// parameters; EACCES refused by tools_queue=0 in SIMCUDA_CONFIG. Times are those of simcuda_clock_ns; what
/// happens is in the ring as soon as the call or the fault that causes it is served. Thread-safe.
int simcuda_uvm_tools(int tracker, unsigned long command, void* parameters);
/// One of the unified-memory module's parameters, in the module's unit. 0, or -1 for a name it does not know.
int simcuda_uvm_parameter(const char* name, unsigned* value);
}
