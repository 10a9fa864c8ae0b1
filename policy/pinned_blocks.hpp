/// Which pinned blocks that the program frees are kept for its next allocation. It is decided from plain
/// numbers, without CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

namespace umadvisor::policy {

/// Two blocks of a kind answer every query alike: exact bytes and flags, the entry point that made them, the
/// context that was current, and the NUMA node of the thread.
struct PinnedKind {
    std::uint64_t bytes = 0; ///< 0: none
    std::uint64_t node = 0;  ///< plus 1; 0: not known
    std::uint32_t flags = 0;
    std::uint16_t entry = 0;   ///< of the driver
    std::uint16_t context = 0; ///< number

    friend bool operator==(const PinnedKind&, const PinnedKind&) = default;
};

struct PinnedBlock {
    std::uint64_t address = 0;
    std::uint64_t context = 0; ///< handle
    PinnedKind kind;
};

/// The blocks that are kept, and what is known of each kind. A kind is kept once the program has come back for
/// it `returns_before` times: allocated it after it had freed one. A kind whose blocks cost more to hand out
/// than the driver needs to make one is given up for good.
///
/// A kept block counts as old after `old_after_ns`, or `old_after` allocations of other kinds. Of several of a
/// kind the newest is handed out, so those that the program no longer needs grow old.
///
/// Not thread-safe: the owner's lock covers it. Beyond `most_kinds` the kind that was seen longest ago is
/// forgotten; blocks beyond `most_blocks` or the budget are not kept.
class PinnedBlocks {
public:
    static constexpr std::size_t most_kinds = 128, most_blocks = 256;
    static constexpr std::uint32_t returns_before = 2;
    static constexpr std::uint32_t trial = 8; ///< blocks that are handed out before a kind may be given up
    static constexpr std::uint64_t old_after = 256;
    static constexpr std::uint64_t old_after_ns = 2'000'000'000;

    constexpr PinnedBlocks() noexcept = default;

    /// 0: nothing is kept, as before the first call.
    void set_budget(std::uint64_t bytes) noexcept { budget_ = bytes; }
    std::uint64_t budget() const noexcept { return budget_; }

    /// The program asks for a block. Returns whether `out` is a kept one, which is kept no longer.
    bool hand_out(const PinnedKind& kind, PinnedBlock& out) noexcept;
    /// That took so many ticks. Returns whether the kind has just been given up.
    bool handed_out(const PinnedKind& kind, std::uint64_t ticks) noexcept;
    /// The driver made one in so many ticks.
    void made(const PinnedKind& kind, std::uint64_t ticks) noexcept;

    /// The program frees a block. Returns whether it is to be kept.
    bool wants(const PinnedKind& kind) noexcept;
    /// `now` is in nanoseconds. False: there is no room.
    bool keep(const PinnedBlock& block, std::uint64_t now) noexcept;

    bool holds(std::uint64_t address) const noexcept;
    std::uint64_t bytes() const noexcept { return bytes_; }

    /// Each call removes one block to be given back: an old one of this context; or any. False: there is none.
    bool remove_old(std::uint16_t context, std::uint64_t now, PinnedBlock& out) noexcept;
    bool remove_any(PinnedBlock& out) noexcept;
    /// The context is gone, and its blocks with it.
    void forget(std::uint16_t context) noexcept;

private:
    struct Known {
        PinnedKind kind;
        std::uint64_t seen = 0;                  ///< turn
        std::uint64_t least_made = 0, spent = 0; ///< ticks; 0: the driver made none
        std::uint32_t free = 0;                  ///< blocks that the program has freed and not asked for again
        std::uint32_t returns = 0, reused = 0;
        bool given_up = false;
    };
    struct Kept {
        PinnedBlock block;
        std::uint64_t since = 0;  ///< nanoseconds
        std::uint64_t others = 0; ///< allocations of other kinds since
    };

    Known* find(const PinnedKind& kind) noexcept;
    Known& know(const PinnedKind& kind) noexcept;
    void remove(std::size_t at, PinnedBlock& out) noexcept;

    std::uint64_t budget_ = 0, bytes_ = 0;
    std::uint64_t turn_ = 0; ///< allocations
    std::size_t kinds_count_ = 0, kept_count_ = 0;
    Known kinds_[most_kinds] = {};
    Kept kept_[most_blocks] = {}; ///< in the order in which they were kept
};

} // namespace umadvisor::policy
