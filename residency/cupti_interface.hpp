/// What CUPTI's activity interface says of unified memory: the part of cupti_activity.h, cupti_result.h and
/// cupti_callbacks.h that is used here, without their headers, which need not be there. The numbers and layouts
/// are those of `known_releases`; tests/unit/interposer/cupti_layout.cpp holds them against the headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace umadvisor::residency::cupti {

inline constexpr std::string_view known_releases = "CUDA 12.0 to 13.0";

/// Whether they include this cuptiGetVersion (cupti_version.h: 19 is CUDA 12.0, 28 is 12.9 update 1; from then
/// on 130000 and so on). All of them let one subscriber into a process; from 13.3 on CUPTI lets several in.
constexpr bool knows(std::uint32_t version) {
    return (version >= 19 && version <= 28) || version / 100 == 1300;
}

/// What the loader may find. Up to CUDA 12 the name has the toolkit's major number from 12.0 on; CUDA 11 had a
/// minor one, too, and is not looked for.
inline constexpr const char* names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
inline constexpr const char* bundled = "libcupti.so.13"; ///< beside libumadvisor.so
/// The toolkit's own places, which the loader need not know of.
inline constexpr const char* places[] = {
    "/usr/local/cuda/lib64/libcupti.so.13",
    "/usr/local/cuda/lib64/libcupti.so",
    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13",
    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.12",
    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
};

/// CUptiResult
enum Result : int {
    success = 0,
    invalid_parameter = 1,
    max_limit_reached = 12, ///< no more records in the buffer
    not_supported = 27,
    unified_memory_not_supported = 28,
    insufficient_privileges = 35,
    multiple_subscribers_not_supported = 39,
};

/// CUpti_ActivityKind
inline constexpr std::uint32_t unified_memory_counter = 25;

/// CUpti_ActivityUnifiedMemoryCounterScope: deprecated, but it has to be a valid one.
inline constexpr std::uint32_t single_device_scope = 1;

/// CUpti_ActivityFlag
inline constexpr std::uint32_t flush_forced = 1; ///< of cuptiActivityFlushAll: incomplete buffers, too
inline constexpr std::uint32_t on_host = 1;      ///< of thrashing and throttling records

/// CUpti_ActivityUnifiedMemoryCounterKind
enum class CounterKind : std::uint32_t {
    bytes_to_device = 1,
    bytes_to_host = 2,
    host_fault = 3,
    device_fault = 4,
    thrashing = 5,
    throttling = 6,
    remote_map = 7,
    bytes_between_devices = 8,
};
inline constexpr std::uint32_t last_counter_kind = 8;

/// Where a record says which processor: device n is n.
inline constexpr std::uint32_t host_id = 0xffffffff;

/// CUpti_ActivityUnifiedMemoryCounterConfig
struct CounterConfig {
    std::uint32_t scope;
    CounterKind kind;
    std::uint32_t device;
    std::uint32_t enable;
};

/// CUpti_ActivityUnifiedMemoryCounter2, and what CUpti_ActivityUnifiedMemoryCounter3 (from CUDA 12.8 on) begins
/// with. Times are nanoseconds of cuptiGetTimestamp.
struct CounterRecord {
    std::uint32_t kind; ///< unified_memory_counter
    CounterKind counter_kind;
    std::uint64_t value; ///< bytes; of a host fault the instruction, of a device fault faults of that page
    std::uint64_t start, end;
    std::uint64_t address;
    std::uint32_t source, destination;
    std::uint32_t stream; ///< never valid
    std::uint32_t process;
    std::uint32_t flags; ///< FaultAccess, MigrationCause, RemoteMapCause or on_host, as the kind has it
    std::uint32_t padding;
};
static_assert(sizeof(CounterConfig) == 16 && sizeof(CounterRecord) == 64);

/// CUpti_CallbackFunc
using Callback = void (*)(void* user, std::uint32_t domain, std::uint32_t id, const void* data);
/// CUpti_BuffersCallbackRequestFunc
using BufferRequested = void (*)(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records);
/// CUpti_BuffersCallbackCompleteFunc; context and stream are always null.
using BufferCompleted = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t bytes,
                                 std::size_t valid_bytes);

} // namespace umadvisor::residency::cupti
