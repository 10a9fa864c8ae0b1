#pragma once
// What the CUPTI counter collects, and the JSON it becomes: apart from CUPTI's own calling conventions.
#include <cstdint>
#include <cstdio>
#include <map>
#include <tuple>

namespace cupti_copies {

/// Direction, source kind and destination kind of a copy, as CUPTI numbers them.
using CopyClass = std::tuple<unsigned, unsigned, unsigned>;

struct Amount {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
};

/// What moved of one 2 MiB block, aligned as the driver's are.
struct BlockBytes {
    std::uint64_t to_device = 0;
    std::uint64_t to_host = 0;
    std::uint64_t between_devices = 0;
};

struct UnifiedMemory {
    std::uint64_t host_faults = 0;
    std::uint64_t device_fault_records = 0;
    std::uint64_t device_fault_groups = 0;
    std::uint64_t prefetch_faults = 0; ///< device fault records that CUPTI ascribes to a prefetch operation
    std::uint64_t to_device_bytes = 0;
    std::uint64_t to_device_by_request_bytes = 0; ///< the part that a prefetch call of the program moved
    std::uint64_t to_host_bytes = 0;
    std::uint64_t to_host_by_request_bytes = 0;
    std::uint64_t between_devices_bytes = 0;
    std::uint64_t thrashing = 0;
    std::uint64_t throttling = 0;
    std::uint64_t remote_maps = 0;
    std::map<std::uint64_t, BlockBytes> blocks; ///< by address
};

/// Everything counted in one process. Not thread-safe: the caller holds a lock.
struct Counts {
    std::map<CopyClass, Amount> copies;
    std::uint64_t kernels = 0;
    std::uint64_t memsets = 0;
    std::uint64_t dropped = 0;
    UnifiedMemory unified_memory;
    /// CUPTI's answer to switching the unified-memory counters on; empty when nobody asked.
    const char* unified_memory_status = "";
};

/// CUPTI's name of a copy direction, as the reports write it: "HtoD".
const char* direction_name(unsigned kind);

/// CUPTI's name of a memory kind, in lower case: "pageable".
const char* memory_kind_name(unsigned kind);

/// Writes one JSON object. False when the file refused it.
bool write_json(const Counts& counts, std::FILE* file);

} // namespace cupti_copies
