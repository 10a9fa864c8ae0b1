/// What the host takes back of managed memory after a wait, learned over the rounds of a loop.
#pragma once

#include "residency/geometry.hpp"

#include <cstdint>

namespace umadvisor::policy {

/// Names of managed allocations that are the same in each run.
///
/// An allocation is known by its call site, its size and the how-many-th such it is among those that live. Not
/// thread-safe: its owner's lock covers it. What there is no room for stays without a name.
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
    std::uint16_t by_allocation_[slots] = {}; ///< where in by_name_, plus 1
};

/// Which launch is the last to reach an allocation before the program waits for it.
///
/// Learned over the rounds of a loop: an allocation that two waits in a row at one place came after as many
/// launches is expected to be waited for after so many again. Launches on several streams tell nothing: one may
/// be under way when the last is done. Not thread-safe: its owner's lock covers it. Forgets rather than grows.
class LastReach {
public:
    constexpr LastReach() noexcept = default;

    /// The wait that is expected after a launch, before another reaches the allocation.
    struct NextWait {
        std::uint64_t place = 0;     ///< as wait() had it; 0: not known
        std::uint64_t meanwhile = 0; ///< nanoseconds from the launch to where it began, last time
    };

    /// A launch on `stream` is about to reach the allocation. `now`: nanoseconds of any clock.
    NextWait launch(std::uint64_t address, std::uint64_t bytes, std::uint64_t stream,
                    std::uint64_t now) noexcept;

    /// The program has waited at `place`, from `begun` on (0: not known), for launches that reached the
    /// allocation.
    void wait(std::uint64_t address, std::uint64_t bytes, std::uint64_t place, std::uint64_t begun) noexcept;

private:
    /// Not by its id: what is allocated anew in each round mostly comes to stand where it stood.
    struct Turns {
        std::uint64_t key, stream, place;
        std::uint64_t last;               ///< time of the last launch
        std::uint64_t meanwhile;          ///< from there to the wait
        std::uint32_t launches, expected; ///< since the last wait, and before it
        std::int32_t agreed; ///< waits in a row that were as the one before; less than 0: it was wrong
        bool several_streams, told;
    };

    Turns& find(std::uint64_t address, std::uint64_t bytes) noexcept;

    static constexpr std::uint64_t slots = 1024;
    static constexpr std::int32_t believed = 1, distrusted = -8;
    Turns turns_[slots] = {};
};

/// The part of an allocation that the host takes in each round of a loop.
///
/// It stays where it is, or moves on by as much each time and around the end, as through a ring of slots. In
/// bytes from the allocation's start. Plain data; all zeros: nothing was taken yet.
class TakenPart {
public:
    struct Range {
        std::uint64_t first = 0, last = 0; ///< equal: nothing
    };

    constexpr TakenPart() noexcept = default;
    /// As if it had been taken once.
    explicit constexpr TakenPart(Range range) noexcept : last_(range), agreed_(1) {}

    /// What is expected to be taken next of an allocation of `room` bytes; nothing where that cannot be.
    Range next(std::uint64_t room) const noexcept;

    Range last() const noexcept { return last_; }

    /// Bytes that it moves on by, round the end; 0: it stays.
    std::uint64_t step() const noexcept { return step_; }

    /// How many times in a row what was taken was the same, or as far from the one before as that was from its
    /// own; the first of them included.
    std::uint32_t agreed() const noexcept { return agreed_; }

    void took(Range range, std::uint64_t room) noexcept;
    /// What was expected was taken.
    void took_next(std::uint64_t room) noexcept { last_ = next(room); }
    /// Nothing was taken where something was expected, or too little to tell.
    void took_nothing() noexcept { agreed_ = 0; }

private:
    Range last_;
    std::uint64_t step_ = 0;
    std::uint32_t agreed_ = 0;
};

/// A wait is known by its place: where in the program, after which launches. What the host has taken of an
/// allocation between such a wait and the next launch that reaches it, it will take next time, or as much that
/// lies as far on; so it can be brought to the host at once, which takes a third of the time that faults do.
///
/// What was brought cannot be seen to be used. Now and then one block is left to faults: if nobody came for it,
/// the habit is given up. Not thread-safe: its owner's lock covers it. Forgets rather than grows.
class HostReturns {
public:
    struct Span {
        std::uint64_t first = 0, last = 0; ///< addresses; equal: nothing
        std::uint64_t left_out = 0;        ///< address of a block in it that is left to faults; 0: none

        bool empty() const noexcept { return first == last; }

        /// Calls `visit(first, last)` for what is to be brought.
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

    /// The program has waited at `place` for launches that reached the allocation. What to bring to the host.
    /// `in_runs` is the same for this wait and allocation in each run of the program; 0: not known.
    Span wait(std::uint64_t place, std::uint64_t allocation, std::uint64_t address, std::uint64_t bytes,
              std::uint64_t in_runs = 0) noexcept;

    /// The program is expected to wait at `next.place`, and nothing reaches the allocation before: what to
    /// bring to the host behind the launch that is made now. The wait itself then brings nothing. The block at
    /// `tried` (0: none) stays, for it is to be seen whether the launch comes for it.
    Span ahead_of_wait(const LastReach::NextWait& next, std::uint64_t allocation, std::uint64_t address,
                       std::uint64_t bytes, std::uint64_t tried = 0) noexcept;

    /// What an earlier run has learned, in bytes from the allocation's start: known from the first wait on.
    void expect(std::uint64_t in_runs, std::uint64_t first, std::uint64_t last) noexcept;

    /// What was learned or given up.
    struct Lesson {
        std::uint64_t in_runs;
        std::uint64_t first, last; ///< bytes from the allocation's start
        bool given_up;
    };
    /// The oldest that was not taken yet; false: none. Those that nobody takes in time are lost.
    bool take_lesson(Lesson& lesson) noexcept;

    /// Since the last launch that reached the allocation.
    bool has_brought(std::uint64_t allocation) const noexcept;

    /// The allocation's pages are being looked at: took() tells what the host has of them.
    void looking(std::uint64_t allocation) noexcept;

    /// The host has taken [first, last), but for what was brought to it.
    void took(std::uint64_t allocation, std::uint64_t first, std::uint64_t last) noexcept;

    /// A launch reaches the allocation: what the host wanted of it, it has by now.
    void launch(std::uint64_t allocation) noexcept;

    /// What wait() said was not brought after all.
    void leave(std::uint64_t allocation) noexcept;

    /// Below so many bytes of an allocation a fault is as fast, which brings 64 KiB: a prefetch takes 3 us.
    static constexpr std::uint64_t least_bytes = 64 * 1024 + 1;
    /// And below so many of all that is brought together, since then the program waits for it: 10 us more.
    static constexpr std::uint64_t least_together = 192 * 1024;

private:
    /// What the host does after one wait to one allocation.
    struct Habit {
        std::uint64_t key, in_runs;
        TakenPart part;
        std::uint32_t brought; ///< rounds
        std::uint32_t misses;  ///< times that nobody came
        bool has_moved;        ///< on, when it was thought to stay: that was no miss
    };
    /// What happened to an allocation since it was waited for.
    struct Round {
        std::uint64_t allocation, address, room; ///< bytes of it
        std::uint64_t key, in_runs;
        Span brought;
        std::uint64_t first, last, bytes; ///< taken besides
        bool looked;
        bool ahead; ///< the wait is still to come
    };

    static std::uint64_t place_of(std::uint64_t key) noexcept { return (key >> 1) % habits; } ///< keys are odd
    Habit& habit(std::uint64_t key) noexcept { return habits_[place_of(key)]; }
    static TakenPart::Range taken(const Round& round) noexcept;
    Round* find(std::uint64_t allocation) noexcept;
    const Round* find(std::uint64_t allocation) const noexcept;
    Span bring(Habit& known, Round& round, std::uint64_t tried) noexcept;
    void learn(const Round& round) noexcept;
    void judge(Habit& known, const Round& round, TakenPart::Range part) noexcept;
    void adopt(std::uint64_t key, std::uint64_t in_runs, std::uint64_t bytes) noexcept;
    void tell(const Habit& habit, bool given_up) noexcept;

    static constexpr std::uint64_t habits = 1024, rounds = 256;
    static constexpr std::uint32_t lessons = 64;
    Habit habits_[habits] = {};
    Round rounds_[rounds] = {};
    Lesson expected_[habits] = {}; ///< of an earlier run
    Lesson told_[lessons] = {};
    std::uint32_t told_count_ = 0, taken_count_ = 0;
};

} // namespace umadvisor::policy
