/// Which managed memory the host fetches back after a wait, learned over the rounds of a loop.
#pragma once

#include "residency/geometry.hpp"

#include <cstdint>

namespace umadvisor::policy {

/// Names of managed allocations that are the same in each run.
///
/// A name is made of the allocation's call site, its size and its number among the live allocations that share
/// both. An allocation that finds the table full gets no name. Not thread-safe: the owner's lock covers it.
class AllocationNames {
public:
    struct Named {
        std::uint64_t name = 0; ///< 0: it has none
        std::uint64_t bytes = 0;
        std::uint64_t stack = 0; ///< of the call
    };

    constexpr AllocationNames() noexcept = default;

    /// `key` is that of the call's stack.
    void add(std::uint64_t allocation, std::uint64_t bytes, std::uint64_t stack, std::uint64_t key) noexcept;
    void remove(std::uint64_t allocation) noexcept;
    Named find(std::uint64_t allocation) const noexcept;

private:
    static constexpr std::uint64_t slots = 4096, most_alike = 64;
    struct Slot {
        std::uint64_t allocation; ///< 0: free
        Named named;
    };

    Slot by_name_[slots] = {};
    std::uint16_t by_allocation_[slots] = {}; ///< index into by_name_, plus 1; 0: none
};

/// Which launch is the last to reach an allocation before the program waits for it.
///
/// It is learned over the rounds of a loop: when two waits in a row at one site came after the same number of
/// launches, the next wait is expected after as many. Launches on several streams give no prediction: one may
/// still run when the last has ended. Not thread-safe: the owner's lock covers it. An allocation whose slot
/// another one needs is forgotten, so the table never grows.
class LastReach {
public:
    constexpr LastReach() noexcept = default;

    /// The wait that is expected after a launch, before another reaches the allocation.
    struct NextWait {
        std::uint64_t site = 0;      ///< the wait's, as given to wait(); 0: not known
        std::uint64_t meanwhile = 0; ///< nanoseconds from the launch to where it began, last time
    };

    /// A launch on `stream` is about to reach the allocation. `now`: nanoseconds of any clock.
    NextWait launch(std::uint64_t address, std::uint64_t bytes, std::uint64_t stream,
                    std::uint64_t now) noexcept;

    /// The program has waited at `site`, since `begun` (0: not known), for launches that reached the
    /// allocation.
    void wait(std::uint64_t address, std::uint64_t bytes, std::uint64_t site, std::uint64_t begun) noexcept;

private:
    /// The key is made of address and size, not of the id: a program that allocates anew in each round mostly
    /// gets the same address.
    struct Entry {
        std::uint64_t key, stream, site;
        std::uint64_t last;               ///< time of the last launch
        std::uint64_t meanwhile;          ///< from there to the wait
        std::uint32_t launches, expected; ///< since the last wait, and before it
        std::int32_t agreed; ///< waits in a row that were like the one before; negative: it was wrong
        bool several_streams;
        bool announced; ///< its last launch was, as the last one before the wait
    };

    Entry& find(std::uint64_t address, std::uint64_t bytes) noexcept;

    static constexpr std::uint64_t slots = 1024;
    static constexpr std::int32_t believed = 1, distrusted = -8;
    Entry entries_[slots] = {};
};

/// The part of an allocation that the host fetches in each round of a loop.
///
/// The part is the same in each round, or it advances by a fixed step and wraps around at the allocation's end,
/// as through a ring buffer. In bytes from the allocation's start. All zeros: nothing was fetched yet.
class FetchedPart {
public:
    struct Range {
        std::uint64_t first = 0, last = 0; ///< equal: nothing
    };

    constexpr FetchedPart() noexcept = default;
    /// A part that counts as fetched once.
    explicit constexpr FetchedPart(Range range) noexcept : last_(range), agreed_(1) {}

    /// The part that is expected next of an allocation of `room` bytes; empty if it would not lie within.
    Range next(std::uint64_t room) const noexcept;

    Range last() const noexcept { return last_; }

    /// Bytes by which the part advances, with wrap-around; 0: it is the same each time.
    std::uint64_t step() const noexcept { return step_; }

    /// How many fetches in a row had the same step, the first included.
    std::uint32_t agreed() const noexcept { return agreed_; }

    void fetched(Range range, std::uint64_t room) noexcept;
    void fetched_as_expected(std::uint64_t room) noexcept { last_ = next(room); }
    /// Nothing was fetched, or too little to learn from.
    void fetched_nothing() noexcept { agreed_ = 0; }

private:
    Range last_;
    std::uint64_t step_ = 0;
    std::uint32_t agreed_ = 0;
};

/// Prefetches to the host what it is expected to fetch after a wait.
///
/// A wait's site stands for its call stack and for the allocations that the launches before it reached. The
/// part of an allocation that the host fetched between such a wait and the next launch is expected again at the
/// same site, there or one step further. A prefetch to the host takes a third of the time that its faults take.
///
/// Whether the host uses prefetched memory cannot be seen. So one block is left to faults now and then: if the
/// host does not fault on it, the pattern is given up. Not thread-safe: the owner's lock covers it. A pattern
/// whose slot another one needs is forgotten, so the tables never grow.
class HostReturns {
public:
    struct Span {
        std::uint64_t first = 0, last = 0; ///< addresses; equal: nothing
        std::uint64_t left_out = 0;        ///< address of a block in it that is left to faults; 0: none

        bool empty() const noexcept { return first == last; }

        /// Calls `visit(first, last)` for each range to prefetch.
        template <class Visit>
        void for_each_part(Visit&& visit) const noexcept {
            const std::uint64_t before = left_out == 0 ? last : left_out;
            if (first < before)
                visit(first, before);
            const std::uint64_t behind = (left_out / residency::block_bytes + 1) * residency::block_bytes;
            if (left_out != 0 && behind < last)
                visit(behind, last);
        }
    };

    constexpr HostReturns() noexcept = default;

    /// The program has waited at `site` for launches that reached the allocation. Returns what to prefetch to
    /// the host. `stable_key` identifies this wait and allocation in every run of the program; 0: not known.
    Span wait(std::uint64_t site, std::uint64_t allocation, std::uint64_t address, std::uint64_t bytes,
              std::uint64_t stable_key = 0) noexcept;

    /// The program is expected to wait at `next.site`, and no launch reaches the allocation before. Returns
    /// what to prefetch to the host right after the current launch; the wait itself then returns nothing. The
    /// block at `tried` (0: none) is left out, since a UsageTrial watches whether the launch faults on it.
    Span ahead_of_wait(const LastReach::NextWait& next, std::uint64_t allocation, std::uint64_t address,
                       std::uint64_t bytes, std::uint64_t tried = 0) noexcept;

    /// A part that an earlier run learned, in bytes from the allocation's start. It counts from the first wait
    /// on.
    void expect(std::uint64_t stable_key, std::uint64_t first, std::uint64_t last) noexcept;

    /// A pattern that was learned or given up.
    struct Lesson {
        std::uint64_t stable_key;
        std::uint64_t first, last; ///< bytes from the allocation's start
        bool given_up;
    };
    /// Removes the oldest lesson; false: there is none. Lessons beyond `max_lessons` are lost.
    bool pop_lesson(Lesson& lesson) noexcept;

    /// Whether it was prefetched to the host since the last launch that reached it.
    bool has_brought(std::uint64_t allocation) const noexcept;

    /// The allocation's pages are sampled now: host_has() follows for each range that the host has.
    void looking(std::uint64_t allocation) noexcept;

    /// The host has [first, last): it fetched all of it that was not prefetched.
    void host_has(std::uint64_t allocation, std::uint64_t first, std::uint64_t last) noexcept;

    /// A launch reaches the allocation: the round ends, and its fetches are learned from.
    void launch(std::uint64_t allocation) noexcept;

    /// The prefetch that wait() asked for was not made.
    void cancel(std::uint64_t allocation) noexcept;

    /// Bytes of an allocation below which a fault, which brings 64 KiB, is as fast as a prefetch of 3 us.
    static constexpr std::uint64_t least_bytes = 64 * 1024 + 1;
    /// Bytes of all prefetches of a wait below which faults are as fast: waiting for the prefetches adds 10 us.
    static constexpr std::uint64_t least_together = 192 * 1024;

private:
    /// What the host fetches of one allocation after one wait site.
    struct Pattern {
        std::uint64_t key, stable_key;
        FetchedPart part;
        std::uint32_t brought; ///< rounds
        std::uint32_t misses;  ///< times that the host did not use a block that was left out
        bool has_moved;        ///< the part began to advance, which does not count as a miss
    };
    /// What happened to an allocation since the last wait for it.
    struct Round {
        std::uint64_t allocation, address, room; ///< bytes of it
        std::uint64_t key, stable_key;
        Span brought;
        std::uint64_t first, last, bytes; ///< fetched, without what was prefetched
        bool looked;
        bool ahead; ///< the prefetch was made before the wait
    };

    static std::uint64_t slot_of(std::uint64_t key) noexcept {
        return (key >> 1) % max_patterns;
    } ///< keys are odd
    Pattern& pattern_in_slot(std::uint64_t key) noexcept { return patterns_[slot_of(key)]; }
    static FetchedPart::Range fetched_part(const Round& round) noexcept;
    Round* find(std::uint64_t allocation) noexcept;
    const Round* find(std::uint64_t allocation) const noexcept;
    Span bring(Pattern& known, Round& round, std::uint64_t tried) noexcept;
    void learn(const Round& round) noexcept;
    void judge(Pattern& known, const Round& round, FetchedPart::Range part) noexcept;
    void adopt(std::uint64_t key, std::uint64_t stable_key, std::uint64_t bytes) noexcept;
    void add_lesson(const Pattern& pattern, bool given_up) noexcept;

    static constexpr std::uint64_t max_patterns = 1024, rounds = 256;
    static constexpr std::uint32_t max_lessons = 64;
    Pattern patterns_[max_patterns] = {};
    Round rounds_[rounds] = {};
    Lesson expected_[max_patterns] = {}; ///< of an earlier run
    Lesson lessons_[max_lessons] = {};   ///< a ring
    std::uint32_t lessons_added_ = 0, lessons_popped_ = 0;
};

} // namespace umadvisor::policy
