/// What the program has done so far, in numbers, for who watches it while it runs.
#pragma once

#include "interposer/record/taking.hpp"
#include "trace/records.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace umadvisor::record {

/// Between what a copy went. One with a managed end is `managed`: where that memory lay is not known.
enum class CopyWay : std::uint8_t {
    host_to_device,
    device_to_host,
    device_to_device, ///< of one device
    peer,             ///< from one device to another
    host_to_host,
    managed,
};
inline constexpr std::size_t copy_ways = 6;

/// Calls that failed, and those that became nodes of a graph, count for `calls_ns` alone.
struct Totals {
    struct Copies {
        std::uint64_t calls, bytes, pageable_bytes;
    };
    Copies copies[copy_ways];
    std::uint64_t launches, graph_launches;
    std::uint64_t waits, wait_ns; ///< calls that wait for the device; not copies that do, nor queries
    std::uint64_t calls_ns;       ///< time inside all calls that are recorded
    std::uint64_t managed_bytes_to_device, managed_bytes_to_host, device_faults, host_faults, thrashing;
    std::uint64_t refused;            ///< allocations for which there was no memory; always counted
    std::uint64_t actions, act_bytes; ///< what umadvisor did by itself
    std::uint64_t watched_ns;         ///< for how long all but `refused` were counted
};

/// Whether calls are counted now. One load, in the line of the cache that each hook reads.
inline bool watched() noexcept {
    return detail::taking_page.watched.load(std::memory_order_relaxed);
}

/// Whether two addresses are on different devices. May take locks of the level `allocations`.
using CrossesDevices = bool (*)(std::uint64_t source, std::uint64_t destination) noexcept;

/// Begins or ends counting. runtime::watch() calls it and sees to it that all calls come to write().
void watch(bool on, CrossesDevices crosses) noexcept;

/// Whether write() counts such a record.
template <class Record>
bool counts() noexcept {
    return std::is_same_v<Record, trace::Alloc> || watched();
}

/// Adds a record of one of the event types. Takes no lock, unless it is a copy between devices.
template <class Record>
void count(const Record& record) noexcept;
void count(const trace::LaunchShape& shape, const trace::Launch& launch) noexcept;

/// Fills in the totals up to now. Each number is exact by itself; threads may count meanwhile.
void read_totals(Totals& totals) noexcept;

} // namespace umadvisor::record
