/// Where rewritten allocations are to reside and how large the card looks. It is decided from plain numbers,
/// without CUDA.
#pragma once

#include <algorithm>
#include <cstdint>

namespace umadvisor::policy {

constexpr int max_devices = 64; ///< ordinals from here on are left alone

/// What decisions need to know of a device.
struct DeviceState {
    std::uint64_t memory_bytes;    ///< pretended, or the card's
    std::uint64_t rewritten_bytes; ///< of live allocations that were rewritten
    std::uint64_t plain_bytes;     ///< of live allocations that were not
    std::uint64_t other_bytes;     ///< of contexts and other processes; 0 for a pretended card
};

/// What the card has for rewritten allocations, whether or not they use it.
inline std::uint64_t room_of(const DeviceState& device) noexcept {
    return device.memory_bytes - std::min(device.plain_bytes, device.memory_bytes);
}

/// Whether everything fits the device, so that rewritten memory gets its preferred location there and is
/// prefetched. Never when oversubscribed: SET_PREFERRED_LOCATION switches off the driver's own relief from
/// thrashing.
inline bool holds_all(const DeviceState& device) noexcept {
    return device.rewritten_bytes + device.plain_bytes + device.other_bytes <= device.memory_bytes;
}

/// The answer of cuMemGetInfo.
struct MemoryInfo {
    std::uint64_t free, total;
};

/// The card as it would look with `pretended` bytes (0: its own) if all that the program and others hold
/// (`held_bytes`) had come from cuMemAlloc. Of managed memory, `real` counts what has been on the device.
inline MemoryInfo pretend(MemoryInfo real, std::uint64_t pretended, std::uint64_t held_bytes) noexcept {
    const std::uint64_t total = pretended != 0 ? std::min(pretended, real.total) : real.total;
    const std::uint64_t used = std::max(real.total - std::min(real.free, real.total), held_bytes);
    return {total - std::min(used, total), total};
}

} // namespace umadvisor::policy
