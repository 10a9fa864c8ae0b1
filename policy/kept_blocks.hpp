/// Memory that a program gives up and asks for again: what is worth keeping for it. Plain numbers, without
/// CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

namespace umadvisor::policy {

/// Blocks of one kind can stand in for each other: every query about them has the same answer. So the size is
/// exact.
struct BlockKind {
    std::uint64_t bytes = 0; ///< 0: none
    std::uint64_t place = 0; ///< a NUMA node plus 1, or the only address that will do; 0: any place
    std::uint32_t flags = 0;
    std::uint16_t entry = 0;   ///< of the driver, where it matters
    std::uint16_t context = 0; ///< number (observe/contexts.hpp)

    bool operator==(const BlockKind&) const = default;
};

struct KeptBlock {
    BlockKind kind;
    std::uint64_t address = 0;
    std::uint64_t owner = 0; ///< handle of the context
};

/// How much may be kept.
struct KeptBudget {
    std::uint64_t limit = 0, used = 0; ///< bytes

    bool has_room(std::uint64_t bytes) const noexcept { return used <= limit && bytes <= limit - used; }
};

/// Keeps blocks of kinds for which the program has come back: it has asked for a block of the same kind after
/// it had given one up, `least_returns` times. A kind is refused for good if, of `trial` blocks that are handed
/// out, none was faster than the fastest that the driver made.
///
/// Of several blocks of a kind the newest is handed out, so those that the program no longer needs grow old:
/// after `old_after_ns`, or `old_after` requests for other kinds. Memory: fixed, 64 KiB. Not thread-safe.
class KeptBlocks {
public:
    static constexpr std::size_t most_kinds = 256, most_blocks = 1024;
    static constexpr std::uint32_t least_returns = 2;
    static constexpr std::uint32_t trial = 8; ///< blocks that are handed out before a kind may be refused
    static constexpr std::uint64_t old_after = 1024;
    static constexpr std::uint64_t old_after_ns = 2'000'000'000;
    /// The request of each kind with this number, and with twice, four, ... times it, is left to the driver,
    /// and one block given up after it.
    static constexpr std::uint32_t first_compared = 64;

    constexpr KeptBlocks() noexcept = default;

    /// Who answers a request.
    enum class Source : std::uint8_t {
        kept,     ///< a block that is kept no longer
        driver,   ///< none is kept
        compared, ///< the driver, whose time is to be known (made)
    };
    /// The program asks for a block, which is `out` if a kept one answers.
    Source hand_out(const BlockKind& kind, KeptBlock& out) noexcept;
    /// That took so many ticks, with what it takes to keep the block. Returns whether the kind is refused from
    /// now on.
    bool handed_out(const BlockKind& kind, std::uint64_t ticks) noexcept;
    /// The driver made one in so many ticks.
    void made(const BlockKind& kind, std::uint64_t ticks) noexcept;

    /// The program gives up a block. Returns whether it is worth keeping.
    bool wants(const BlockKind& kind) noexcept;
    /// Keeps the block from `now` on, in nanoseconds. Returns false if there are too many.
    bool keep(const KeptBlock& block, std::uint64_t now) noexcept;

    /// Whether the block at this address is kept.
    bool holds(std::uint64_t address) const noexcept;

    /// Each call removes one block to be given back: an old one of this context (0: of any); or any. Returns
    /// false if there is none.
    bool remove_old(std::uint16_t context, std::uint64_t now, KeptBlock& out) noexcept;
    bool remove_any(KeptBlock& out) noexcept;

    /// Forgets the kinds of a context and its blocks. Returns the bytes of these.
    std::uint64_t forget_context(std::uint16_t context) noexcept;

private:
    struct Kind {
        BlockKind kind;
        std::uint64_t asked = 0;                      ///< when, in requests
        std::uint64_t least_made = 0, least_kept = 0; ///< ticks to make one and to hand one out; 0: not known
        std::uint32_t returns = 0;
        std::uint32_t given_up = 0; ///< and not asked for again
        std::uint32_t answered = 0; ///< requests, with kept blocks or compared
        std::uint32_t reused = 0;
        bool skip_next = false; ///< the next block given up is the driver's, as one was that was asked for
        bool refused = false;
        std::uint16_t first = 0; ///< block, from 1 on, the newest; 0: none
    };
    struct Block {
        std::uint64_t address = 0, owner = 0;
        std::uint64_t since = 0; ///< nanoseconds
        std::uint16_t next = 0;
    };

    Kind* find(const BlockKind& kind) noexcept;
    Kind* enter(const BlockKind& kind) noexcept;
    KeptBlock remove(const Kind& kind, std::uint16_t& link) noexcept;
    std::uint16_t& oldest(Kind& kind) noexcept;

    Kind kinds_[most_kinds];
    Block blocks_[most_blocks];
    std::uint16_t unused_ = 0; ///< first of a list of blocks that were in use
    std::uint16_t used_ = 0;   ///< blocks that have ever been in use
    std::uint16_t count_ = 0;  ///< that are kept
    std::uint64_t requests_ = 0;
};

} // namespace umadvisor::policy
