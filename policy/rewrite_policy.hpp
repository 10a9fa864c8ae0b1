/// Where rewritten allocations are placed and how large the card looks, from plain numbers: no CUDA here.
#pragma once

#include <algorithm>
#include <cstdint>

namespace umadvisor::policy {

constexpr int max_devices = 64; ///< ordinals from here on are left alone

/// One device, as far as decisions go by it.
struct DeviceState {
    std::uint64_t memory_bytes;    ///< pretended, or the card's
    std::uint64_t rewritten_bytes; ///< live allocations that were rewritten
    std::uint64_t plain_bytes;     ///< and those that were not
    std::uint64_t other_bytes;     ///< neither: contexts, other processes; of a pretended card none
};

/// What the card has left for allocations that are rewritten, were there none yet.
inline std::uint64_t room_of(const DeviceState& device) noexcept {
    return device.memory_bytes - std::min(device.plain_bytes, device.memory_bytes);
}

/// Whether all has room on it, so that what was rewritten is to have its preferred location there and be
/// brought. Never when oversubscribed: SET_PREFERRED_LOCATION switches off the driver's own relief from
/// thrashing.
inline bool holds_all(const DeviceState& device) noexcept {
    return device.rewritten_bytes + device.plain_bytes + device.other_bytes <= device.memory_bytes;
}

/// What cuMemGetInfo shall answer.
struct MemoryInfo {
    std::uint64_t free, total;
};

/// The card as it would look with `pretended` bytes (0: its own) and with `held_bytes`, all that the program
/// holds and what is beside it, allocated by cuMemAlloc. `real` counts of managed memory what has been on the
/// device.
inline MemoryInfo pretend(MemoryInfo real, std::uint64_t pretended, std::uint64_t held_bytes) noexcept {
    const std::uint64_t total = pretended != 0 ? std::min(pretended, real.total) : real.total;
    const std::uint64_t used = std::max(real.total - std::min(real.free, real.total), held_bytes);
    return {total - std::min(used, total), total};
}

} // namespace umadvisor::policy
