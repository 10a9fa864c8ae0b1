/// What to bring to the device before a launch, and what to the host so that it has room there; what launches
/// are expected. Decided from plain numbers: no CUDA here.
#pragma once

#include "residency/geometry.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace umadvisor::policy {

/// The order of a program's launches, and what it foretells: most programs repeat themselves.
///
/// Remembers which allocations each of the last launches reached. As long as launches go on as they did once
/// before, what came next then is what comes next now. Not thread-safe: its owner's lock covers it. Never
/// grows; what it has no room for it forgets.
class LaunchSequence {
public:
    static constexpr std::uint32_t unknown = 0xffff'ffff; ///< no next use is known

    constexpr LaunchSequence() noexcept = default;

    /// A launch reaches these allocations, by address: what is freed and allocated anew in each round mostly
    /// stands where it stood.
    void add(std::span<const std::uint64_t> allocations) noexcept;

    /// Calls `visit(allocation, launches)` for what the next launches are expected to reach, the very next one
    /// with `launches` 1, in that order, until it returns false. Nothing while the program does what it has
    /// never done. A period is gone through once.
    template <class Visit>
    void foretell(Visit&& visit) const noexcept {
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
    std::uint64_t next_ = none; ///< number of the launch that the next one is expected to be like
    std::uint16_t tape_[length] = {};
    std::uint16_t set_count_ = 0, member_count_ = 0;
    Set sets_[sets] = {};
    std::uint16_t by_hash_[2 * sets] = {}; ///< open addressing; number + 1
    std::uint64_t members_[members] = {};
};

/// Whether what is foretold comes true often enough to act on it.
///
/// Of launches: what is brought for one that does not come leaves again, so after four wrong guesses running
/// nothing is foretold for a while. Not thread-safe: its owner's lock covers it.
class Trust {
public:
    static constexpr unsigned most_misses = 4, rest = 256; ///< launches

    /// The next launch is to reach the allocation at this address.
    void expect(std::uint64_t address) noexcept { expected_ = address; }
    bool expects(std::uint64_t address) const noexcept { return expected_ == address; }

    /// A launch has come; `met`: it reaches what was expected, if anything was. Whether the next may be
    /// foretold.
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

/// A managed allocation of which some blocks are on the device.
struct Resident {
    ResidencyView view;
    std::uint32_t next_use; ///< launches from now; LaunchSequence::unknown: none known
    std::uint64_t last_use; ///< number of a launch
};

/// Fills in `next_use`. Reorders `residents` by address.
void foresee(std::span<Resident> residents, const LaunchSequence& sequence) noexcept;

/// At least `bytes` of blocks on the device, as far as there are so many: those first that are used last from
/// now on (L. A. Belady, "A study of replacement algorithms for virtual-storage computer", 1966), or, where the
/// future is not known, those that were used least recently. Reorders `residents`.
void plan_eviction(std::span<Resident> residents, std::uint64_t bytes, PrefetchPlan& plan) noexcept;

} // namespace umadvisor::policy
