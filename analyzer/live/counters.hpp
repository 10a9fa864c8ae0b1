/// What a process has counted since it entered CUDA.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace umadvisor::live {

/// Kinds of copies, by the names that answers give them.
inline constexpr std::string_view copy_kinds[] = {"h2d", "d2h", "d2d", "peer", "h2h", "managed"};

struct CopyCounts {
    std::uint64_t calls = 0, bytes = 0;
    std::uint64_t pageable_bytes = 0; ///< of `bytes`: from or to pageable memory
};

struct Counters {
    std::uint64_t monotonic_ns = 0; ///< when they were read
    std::array<CopyCounts, std::size(copy_kinds)> copies{};
    std::uint64_t launches = 0, graph_launches = 0;
    std::uint64_t waits = 0, wait_ns = 0; ///< calls that wait for a device, of all threads
    std::uint64_t to_device_bytes = 0, to_host_bytes = 0, device_faults = 0, host_faults = 0,
                  thrashing = 0;                                         ///< of managed memory
    std::uint64_t device_bytes = 0, managed_bytes = 0, pinned_bytes = 0; ///< in use now
    std::uint64_t allocations = 0;                                       ///< in use now
    std::uint64_t refused = 0;                                           ///< allocations
    std::uint64_t act_actions = 0, act_bytes = 0;                        ///< of --act
};

/// From an answer. Throws reader::Error where it has no time.
Counters read_counters(const nlohmann::json& answer);

} // namespace umadvisor::live
