/// What happened to managed memory, added up: that of one allocating line, or all of it.
#pragma once

#include "analyzer/reader/saturated.hpp"
#include "trace/managed_records.hpp"

#include <array>
#include <cstdint>
#include <numeric>
#include <string_view>

namespace umadvisor::managed {

/// Bytes between host and devices.
struct MovedBytes {
    std::uint64_t to_device = 0, to_host = 0;

    bool any() const { return to_device != 0 || to_host != 0; }
    void add(const MovedBytes& other) {
        reader::add_saturated(to_device, other.to_device);
        reader::add_saturated(to_host, other.to_host);
    }
    bool operator==(const MovedBytes&) const = default;
};

enum class MoveDirection : std::uint8_t { to_device, to_host, between_devices };
MoveDirection direction_of(const trace::ManagedEvent& event);

/// Faults a record stands for.
constexpr std::uint64_t faults_of(const trace::ManagedEvent& event) {
    return reader::saturated_sum(event.count, 1);
}

inline constexpr std::size_t migration_causes = 6, fault_accesses = 5, remote_map_causes = 6;

/// Sums stay at the greatest number there is. Numbers of causes that are newer than umadvisor count as unknown.
struct ManagedTally {
    std::uint64_t events = 0;
    std::array<std::uint64_t, migration_causes> to_device{}, to_host{};       ///< bytes, by MigrationCause
    std::uint64_t between_devices = 0;                                        ///< bytes
    std::array<std::uint64_t, fault_accesses> host_faults{}, device_faults{}; ///< by FaultAccess
    std::uint64_t thrashings = 0, thrashing_bytes = 0;
    std::uint64_t throttlings = 0, throttled_ticks = 0;
    std::array<std::uint64_t, remote_map_causes> remote_bytes{}; ///< by RemoteMapCause
    std::uint64_t read_duplicated_bytes = 0;

    void add(const trace::ManagedEvent& event);
    void add(const ManagedTally& other);
};

template <std::size_t N>
constexpr std::uint64_t sum_of(const std::array<std::uint64_t, N>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}, reader::saturated_sum);
}

/// The bytes of the recorded moves.
constexpr MovedBytes moved_of(const ManagedTally& tally) {
    return {sum_of(tally.to_device), sum_of(tally.to_host)};
}

/// As reports write them: "coherence", "write".
std::string_view migration_cause_name(std::size_t cause);
std::string_view fault_access_name(std::size_t access);
std::string_view remote_map_cause_name(std::size_t cause);

} // namespace umadvisor::managed
