/// What to bring to the device before a launch, decided from plain numbers: no CUDA here.
#pragma once

#include "residency/geometry.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace umadvisor::policy {

using residency::block_bytes;

/// What is known of a 2 MiB block.
enum class BlockState : std::uint8_t {
    unknown,
    host,
    device,
    left_alone, ///< the program has said where it is to be: not on the device, or used from afar
};

/// Whether a launch that wants the block should have it brought.
constexpr bool is_missing(BlockState state) noexcept {
    return state == BlockState::unknown || state == BlockState::host;
}

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

/// Every run of missing blocks, clipped to its allocation, as long as all of it
/// stays within `budget` bytes. A run that does not fit is cut at a block, never left out for a smaller one
/// behind it: what comes first is what the kernel's first parameter reaches.
void plan_prefetch(std::span<const ResidencyView> touched, std::uint64_t budget, PrefetchPlan& plan) noexcept;

/// Bytes of the blocks that are missing.
std::uint64_t missing_bytes(std::span<const ResidencyView> touched) noexcept;

/// Blocks that [address, address + bytes) cuts.
constexpr std::uint64_t blocks_of(std::uint64_t address, std::uint64_t bytes) noexcept {
    return bytes == 0 ? 0 : (address + bytes - 1) / block_bytes - address / block_bytes + 1;
}

} // namespace umadvisor::policy
