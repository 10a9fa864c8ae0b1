/// Where the blocks of managed allocations are, as far as we know.
#pragma once

#include "interposer/act/prefetch_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace umadvisor::act {

/// Not thread-safe: its owner's lock covers it. Memory for an allocation's blocks is taken at its first sight
/// and given back by forget(). Without memory an allocation stays unknown, and nothing is planned for it.
class ResidencyMap {
public:
    constexpr ResidencyMap() noexcept = default;
    ResidencyMap(const ResidencyMap&) = delete;
    ResidencyMap& operator=(const ResidencyMap&) = delete;

    /// The allocation's blocks; at first sight all unknown. False without memory.
    bool see(std::uint64_t allocation, std::uint64_t address, std::uint64_t bytes, ResidencyView& out) noexcept;

    /// Whether no block of the allocation is missing on the device. False for one never seen.
    bool resident(std::uint64_t allocation) const noexcept;

    /// Whether a look at the page table could spare the next launch a prefetch: not where all of the allocation
    /// is missing and is prefetched whatever is seen.
    bool worth_a_look(std::uint64_t allocation) const noexcept;

    /// What a launch reaches is on the device once it has run: missing blocks, in order, while the device holds
    /// no more than `capacity` bytes.
    void launched(std::uint64_t allocation, std::uint64_t capacity) noexcept;

    /// [first, last) is on one side, as a prefetch or a look at the page table tells: every block that it cuts.
    void moved(std::uint64_t allocation, std::uint64_t first, std::uint64_t last, BlockState to) noexcept;

    /// The program has waited for the device and may touch anything from now on. What bounces between host and
    /// device, and everything where host touches cannot be `seen`, counts as unknown from its next see() on
    /// unless it was looked at in between: a prefetch of what is resident costs 0.9 us a block, a missed one a
    /// fault batch.
    void synchronized(bool seen) noexcept;

    /// [first, last) is being looked at: blocks that lie in it completely and were thought to be on the host
    /// may have left it. What the host has mapped is told by moved(host) next.
    void looking(std::uint64_t allocation, std::uint64_t first, std::uint64_t last) noexcept;

    void forget(std::uint64_t allocation) noexcept;

    /// Forgets everything and gives its memory back.
    void clear() noexcept;

    /// Bytes known to be on the device.
    std::uint64_t device_bytes() const noexcept { return device_blocks_ * block_bytes; }

private:
    struct Known {
        std::uint64_t allocation, address, bytes;
        BlockState* blocks;
        std::size_t count;
        std::size_t missing;     ///< blocks that are not known to be on the device
        std::uint64_t looked_at; ///< synchronisation it was last looked at after
        unsigned bounces;        ///< more than 0: it came back from the device lately
    };

    Known* find(std::uint64_t allocation) const noexcept;
    void set(Known& known, std::size_t block, BlockState state) noexcept;
    /// Numbers of the blocks that [first, last) cuts.
    struct Cut {
        std::size_t from, until;
    };
    static constexpr unsigned bounce_memory = 8; ///< looks
    static Cut cut(const Known& known, std::uint64_t first, std::uint64_t last) noexcept;

    Known* known_ = nullptr; ///< in the order of ids
    std::size_t count_ = 0, capacity_ = 0;
    std::uint64_t device_blocks_ = 0;
    std::uint64_t synchronizations_ = 0;
    bool blind_ = false;
};

} // namespace umadvisor::act
