/// Memory that a program gives up and asks for again: what is worth keeping for it. Plain numbers, without
/// CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

namespace umadvisor::policy {

/// Blocks of one kind can stand in for each other. The size is exact: a block that was larger than what is
/// asked for would show in cuMemGetAddressRange.
struct BlockKind {
    std::uint64_t bytes = 0;
    std::uint32_t flags = 0;
    std::uint16_t context = 0; ///< number (observe/contexts.hpp)

    bool operator==(const BlockKind&) const = default;
};

struct KeptBlock {
    BlockKind kind;
    std::uint64_t address = 0;
};

/// Keeps blocks of kinds for which the program has come back: it has asked for a block of the same kind after
/// it had given one up, `least_returns` times. Kinds that it no longer asks for are idle. Memory: fixed, 30
/// KiB. Not thread-safe.
class KeptBlocks {
public:
    static constexpr std::size_t most_kinds = 256, most_blocks = 1024;
    static constexpr std::uint32_t least_returns = 2;
    static constexpr std::uint64_t idle_after = 1024; ///< requests for other kinds
    /// One request of each kind in so many is left to the driver, and one block given up after it, up to
    /// `most_compared` of them.
    static constexpr std::uint32_t compared_every = 64, most_compared = 16;

    constexpr KeptBlocks() noexcept = default;

    /// The program asks for a block. Returns the address of one that is kept, and no longer is. 0: there is
    /// none, or the driver is to answer, so that its time can be compared.
    std::uint64_t take(const BlockKind& kind) noexcept;

    /// The program gives up a block. Returns whether it is worth keeping.
    bool give_up(const BlockKind& kind) noexcept;

    /// Keeps the block. Returns false if there are too many.
    bool keep(const KeptBlock& block) noexcept;

    /// Removes a block of an idle kind. Looks at a few kinds only. Returns false if none of these is idle.
    bool remove_idle(KeptBlock& out) noexcept;

    /// Removes a block of any kind. Returns false if nothing is kept.
    bool remove_any(KeptBlock& out) noexcept;

    /// Whether the block at this address is kept.
    bool holds(std::uint64_t address) const noexcept;

    /// Forgets the blocks and kinds of a context.
    void forget_context(std::uint16_t context) noexcept;

private:
    struct Kind {
        BlockKind kind;
        std::uint64_t asked = 0; ///< when, in requests
        std::uint32_t returns = 0;
        std::uint32_t given_up = 0; ///< and not asked for again
        std::uint32_t answered = 0; ///< requests, with kept blocks or compared
        bool skip_next = false;     ///< the next block given up is the driver's, as one was that was asked for
        std::uint16_t first = 0;    ///< block, from 1 on; 0: none
    };
    struct Block {
        std::uint64_t address = 0;
        std::uint16_t next = 0;
    };

    Kind* find(const BlockKind& kind) noexcept;
    Kind* enter(const BlockKind& kind) noexcept;
    std::uint64_t remove_first(Kind& kind) noexcept;

    Kind kinds_[most_kinds];
    Block blocks_[most_blocks];
    std::uint16_t unused_ = 0; ///< first of a list of blocks that were in use
    std::uint16_t used_ = 0;   ///< blocks that have ever been in use
    std::uint64_t requests_ = 0;
    std::size_t looked_at_ = 0;
};

} // namespace umadvisor::policy
