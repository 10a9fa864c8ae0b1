/// Stacks that a thread has unwound, valid as long as the stack words that they depend on are unchanged.
#pragma once

#include "interposer/record/fingerprint.hpp"
#include "interposer/record/unwinder.hpp"

#include <cstddef>
#include <cstdint>

namespace umadvisor::record {

/// Unwinding is a function of the innermost frame's address and of the stack words that it reads: return
/// addresses and saved frame pointers. If all of them are unchanged, the stack is the same. Return addresses
/// alone are not enough: below a frame of variable size (alloca) an old return address may still be in its
/// former slot; the saved frame pointer shows the difference.
///
/// A layout has the offsets of those words above one frame, and their values for the stack that was found last,
/// which is mostly the same one again. Else the stack is found by a fingerprint of the words: stacks that
/// differ only in their outer frames share a layout.
///
/// Belongs to one thread. All zeros: empty. Used on x86-64 alone, where the ABI fixes the slot of every return
/// address; elsewhere it stays empty.
struct StackCache {
    static constexpr std::size_t max_words = 264; ///< two for each frame of the deepest stack that is kept
    static constexpr std::size_t group = 4;       ///< words read without a branch; the last group is filled up
    static_assert(max_words % group == 0 && max_words + 2 <= Fingerprint::capacity);

    /// Words of the stack above one frame. Most are adjacent pairs, a return address above the caller's frame
    /// pointer.
    struct Layout {
        std::uintptr_t caller, frame; ///< return address and frame address of record::stack()
        std::uint64_t epoch;
        std::uint32_t id;                ///< the stack that was found last
        std::uint32_t other;             ///< found since then by the words' fingerprint; 0: none
        std::uint16_t paired, words;     ///< how many there are; those of pairs come first
        std::uint16_t offset[max_words]; ///< from `frame`, in words: of each pair, then of each single word
        Fingerprint::Value start;        ///< the layout's own part in the fingerprints of its stacks
        std::uint64_t held[max_words];   ///< values of the words for the stack `id`

        bool holds_still() const noexcept;
        Fingerprint::Value fingerprint() const noexcept;
        void adopt(std::uint32_t stack) noexcept;
        template <class Each>
        void for_each_word(Each&& each) const noexcept;
    };
    struct Known {
        Fingerprint::Value words;
        std::uint32_t id; ///< 0: none
    };
    /// A stack that was unwound, but not often enough to make a layout of it.
    struct Candidate {
        std::uint64_t key;
        std::uint8_t seen,
            needed; ///< times it was unwound since its last layout; times that make one worthwhile
    };

    static constexpr std::size_t layout_sets = 32, layout_ways = 16;
    static constexpr std::size_t known_sets = 1024, known_ways = 2;
    static constexpr std::size_t candidate_sets = 256, candidate_ways = 4;

    std::uint64_t epoch;        ///< layouts of others are void
    std::uintptr_t first, last; ///< the thread's stack; 0: not asked yet
    std::uint32_t looks;        ///< stacks that were asked for
    std::uint32_t learned;      ///< calls of learn(), for stacks that were not found

    /// A tag of each layout, so that one cache line shows which layouts of a set to check. 0: none.
    alignas(64) std::uint32_t tags[layout_sets][layout_ways];
    Known known[known_sets][known_ways];
    Layout layouts[layout_sets][layout_ways];
    Candidate candidates[candidate_sets][candidate_ways];
    std::uint8_t oldest_layout[layout_sets], oldest_known[known_sets], oldest_candidate[candidate_sets];

    /// Number of the stack, or 0 if it has to be unwound.
    std::uint32_t find(std::uintptr_t caller, std::uintptr_t frame) noexcept;

    /// What unwinding found.
    struct Unwound {
        void* const* addresses; ///< return addresses, that of record::stack() first
        std::size_t count;
        bool ended; ///< at the outermost frame, and not at the depth limit
    };
    /// Remembers the stack with the number `id`. To be called in a frame below `frame`.
    void learn(const Unwinder& unwinder, std::uintptr_t caller, std::uintptr_t frame, const Unwound& unwound,
               std::uint32_t id) noexcept;

    /// Makes every entry void; the pages are given to a thread with another stack.
    void forget() noexcept {
        ++epoch;
        first = last = 0;
        learned = 0;
    }

private:
    static std::uint64_t mixed(std::uintptr_t caller, std::uintptr_t frame) noexcept {
        return (caller ^ frame << 20) * 0x9e3779b97f4a7c15u;
    }
    static std::size_t set_of(std::uint64_t mix) noexcept { return mix >> 59; }
    static_assert(layout_sets == std::size_t{1} << (64 - 59));
    static std::uint32_t tag_of(std::uint64_t mix) noexcept {
        return static_cast<std::uint32_t>(mix >> 27) | 1;
    }
    static std::size_t set_of(const Fingerprint::Value& words) noexcept {
        return (words.low ^ words.high) % known_sets;
    }

    bool in_stack(std::uintptr_t address) noexcept;
    Candidate& candidate_of(std::uint64_t key) noexcept;
    bool lay_out(Layout& layout, const Unwinder& unwinder, const Unwound& unwound) noexcept;
    Layout& keep(const Layout& layout) noexcept;
    /// Number of the stack with such words, or 0.
    std::uint32_t known_as(const Fingerprint::Value& words) const noexcept;
    void remember(const Fingerprint::Value& words, std::uint32_t id) noexcept;
};

/// Voids the entries of all threads, at their next look: objects were loaded or unloaded.
void void_stack_caches() noexcept;

} // namespace umadvisor::record
