/// What to prefetch to the device before a launch, what to evict to the host to make room, and which launches
/// are expected. It is decided from plain numbers, without CUDA.
#pragma once

#include "residency/geometry.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace umadvisor::policy {

/// Predicts a program's launches from their order so far: most programs repeat themselves.
///
/// It keeps which allocations each of the last launches reached. As long as launches repeat an earlier
/// sequence, the next launch is expected to be like the one that came next then. Not thread-safe: the owner's
/// lock covers it. When a table is full all is forgotten, so it never grows.
class LaunchSequence {
public:
    static constexpr std::uint32_t unknown = 0xffff'ffff; ///< no next use is known

    constexpr LaunchSequence() noexcept = default;

    /// A launch reaches these allocations, given by address: a program that allocates anew in each round mostly
    /// gets the same address.
    void add(std::span<const std::uint64_t> allocations) noexcept;

    /// Calls `visit(allocation, launches)` for each allocation that the next launches are expected to reach, in
    /// the order of launches, until it returns false; `launches` is 1 for the next launch. There are no calls
    /// while the program does something new. A period is visited once.
    template <class Visit>
    void predict(Visit&& visit) const noexcept {
        if (next_ == none)
            return;
        std::uint32_t launches = 0;
        for (std::uint64_t at = next_; at < count_; ++at) {
            ++launches;
            for (const std::uint64_t allocation : reach(tape_[at % length]))
                if (!visit(allocation, launches))
                    return;
        }
    }

private:
    static constexpr std::size_t length = 4096;  ///< launches
    static constexpr std::size_t sets = 1024;    ///< different ones
    static constexpr std::size_t members = 8192; ///< of all sets
    static constexpr std::uint64_t none = ~std::uint64_t{0};

    struct Set {
        std::uint64_t hash;
        std::uint16_t first, count; ///< in members_
    };

    std::span<const std::uint64_t> reach(std::uint16_t set) const noexcept {
        return {members_ + sets_[set].first, sets_[set].count};
    }
    std::uint16_t set_of(std::span<const std::uint64_t> allocations) noexcept;
    std::uint64_t likeness(std::uint64_t at) const noexcept;
    void find_precedent() noexcept;

    std::uint64_t count_ = 0;   ///< launches so far
    std::uint64_t next_ = none; ///< number of the earlier launch that the next one is expected to repeat
    std::uint16_t tape_[length] = {};
    std::uint16_t set_count_ = 0, member_count_ = 0;
    Set sets_[sets] = {};
    std::uint16_t by_hash_[2 * sets] = {}; ///< open addressing; number + 1
    std::uint64_t members_[members] = {};
};

/// Whether predictions of launches are right often enough to act on them.
///
/// What was prefetched for a launch that did not come is evicted again, so after four wrong predictions in a
/// row nothing is predicted for a while. Not thread-safe: the owner's lock covers it.
class Trust {
public:
    static constexpr unsigned most_misses = 4, rest = 256; ///< launches

    /// The next launch is to reach the allocation at this address.
    void expect(std::uint64_t address) noexcept { expected_ = address; }
    bool expects(std::uint64_t address) const noexcept { return expected_ == address; }

    /// A launch has come; `met`: it reaches the expected allocation, if there was one. Returns whether the next
    /// launch may be predicted.
    bool earned(bool met) noexcept {
        if (expected_ != 0)
            misses_ = met ? 0 : misses_ + 1;
        expected_ = 0;
        if (misses_ == most_misses) {
            misses_ = 0;
            resting_ = rest;
        }
        resting_ -= resting_ != 0;
        return resting_ == 0;
    }

private:
    std::uint64_t expected_ = 0; ///< 0: nothing
    unsigned misses_ = 0, resting_ = 0;
};

using residency::block_bytes;

/// What is known of a 2 MiB block.
enum class BlockState : std::uint8_t {
    unknown,
    host,
    device,
    left_alone, ///< the program has advised that it stay on the host or be accessed remotely
};

/// Whether the block should be prefetched for a launch that reaches it.
constexpr bool is_missing(BlockState state) noexcept {
    return state == BlockState::unknown || state == BlockState::host;
}

/// A managed allocation that a launch reaches. `blocks` are those that [address, address + bytes) overlaps, in
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

/// Plans every run of missing blocks, clipped to its allocation, until `budget` bytes are planned. The run that
/// exceeds the budget is cut at a block boundary, and nothing after it is planned: the allocations of the first
/// kernel parameters come first.
void plan_prefetch(std::span<const ResidencyView> touched, std::uint64_t budget, PrefetchPlan& plan) noexcept;

/// Bytes of the blocks that are missing.
std::uint64_t missing_bytes(std::span<const ResidencyView> touched) noexcept;

/// Number of the blocks that [address, address + bytes) overlaps.
constexpr std::uint64_t blocks_of(std::uint64_t address, std::uint64_t bytes) noexcept {
    return bytes == 0 ? 0 : (address + bytes - 1) / block_bytes - address / block_bytes + 1;
}

/// A managed allocation of which some blocks are on the device.
struct Resident {
    ResidencyView view;
    std::uint32_t next_use; ///< launches from now; LaunchSequence::unknown: none known
    std::uint64_t last_use; ///< number of a launch
};

/// Fills in `next_use`. Reorders `residents` by address.
void predict_next_uses(std::span<Resident> residents, const LaunchSequence& sequence) noexcept;

/// Plans to evict at least `bytes`, as far as the device has so many. The blocks whose next use is last go
/// first (L. A. Belady, "A study of replacement algorithms for a virtual-storage computer", 1966); where the
/// next use is not known, the least recently used. Reorders `residents`.
void plan_eviction(std::span<Resident> residents, std::uint64_t bytes, PrefetchPlan& plan) noexcept;

} // namespace umadvisor::policy
