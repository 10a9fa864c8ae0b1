#pragma once

#include "residency/geometry.hpp"

#include <array>

namespace umadvisor::residency {

/// Why pages moved; the order and the names are those of CUpti_ActivityUnifiedMemoryMigrationCause.
enum class MigrationCause : std::uint8_t { unknown, user, coherence, prefetch, eviction, access_counters };
inline constexpr unsigned migration_causes = 6;

/// What happened since the model was made. Bytes are bytes, everything else counts occurrences.
struct Counters {
    std::uint64_t host_faults = 0;
    std::uint64_t device_fault_groups = 0;
    std::array<std::uint64_t, migration_causes> bytes_to_device{};
    std::array<std::uint64_t, migration_causes> bytes_to_host{};
    std::uint64_t bytes_between_devices = 0;
    std::uint64_t bytes_read_duplicated = 0;
    std::uint64_t bytes_remote_mapped = 0;
    std::uint64_t prefetch_calls = 0;
    std::uint64_t evicted_blocks = 0;
    std::uint64_t thrashing_pages = 0;
    std::uint64_t throttlings = 0;
};

} // namespace umadvisor::residency
