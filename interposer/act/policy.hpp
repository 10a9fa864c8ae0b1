/// What to do, decided from plain numbers: no CUDA here.
#pragma once

#include "residency/geometry.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace umadvisor::act {

using residency::block_bytes;

/// One device, as far as decisions go by it.
struct DeviceState {
    std::uint64_t memory_bytes;    ///< pretended, or the card's
    std::uint64_t rewritten_bytes; ///< live allocations that were rewritten, without the one to decide about
    bool concurrent_managed_access;
};

struct AllocationDecision {
    bool rewrite;
    /// Preferred location and prefetch. Never when oversubscribed: SET_PREFERRED_LOCATION switches off the
    /// driver's own relief from thrashing.
    bool place;
    bool unplace_others; ///< this one oversubscribes the device: preferred locations are to be taken back
};

/// `--act rewrite=all`. A zero-byte request is the driver's to refuse.
AllocationDecision decide_allocation(std::uint64_t bytes, const DeviceState& device) noexcept;

/// What is known of a 2 MiB block.
enum class BlockState : std::uint8_t { unknown, host, device };

/// A managed allocation that a launch reaches. `blocks` are those that [address, address + bytes) cuts, in
/// order.
struct ResidencyView {
    std::uint64_t allocation;
    std::uint64_t address, bytes;
    std::span<const BlockState> blocks;
};

struct PrefetchRange {
    std::uint64_t allocation, address, bytes;
};

struct PrefetchPlan {
    static constexpr std::uint32_t max_ranges = 64;
    std::uint32_t count = 0;
    std::uint64_t bytes = 0;    ///< of all ranges
    std::uint64_t withheld = 0; ///< missing on the device, but beyond the budget or `max_ranges`
    PrefetchRange ranges[max_ranges];
};

/// Every run of blocks that is not known to be on the device, clipped to its allocation, as long as all of it
/// stays within `budget` bytes. A run that does not fit is cut at a block, never left out for a smaller one
/// behind it: what comes first is what the kernel's first parameter reaches.
void plan_prefetch(std::span<const ResidencyView> touched, std::uint64_t budget, PrefetchPlan& plan) noexcept;

/// Blocks that [address, address + bytes) cuts.
constexpr std::uint64_t blocks_of(std::uint64_t address, std::uint64_t bytes) noexcept {
    return bytes == 0 ? 0 : (address + bytes - 1) / block_bytes - address / block_bytes + 1;
}

/// What cuMemGetInfo shall answer.
struct MemoryInfo {
    std::uint64_t free, total;
};

/// The card as it would look with `pretended` bytes (0: its own) and with `rewritten_bytes` allocated by
/// cuMemAlloc.
MemoryInfo pretend(MemoryInfo real, std::uint64_t pretended, std::uint64_t rewritten_bytes) noexcept;

} // namespace umadvisor::act
