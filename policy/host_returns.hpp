/// What the host takes back of managed memory after a wait, learned over the rounds of a loop.
#pragma once

#include "policy/last_reach.hpp"
#include "policy/taken_part.hpp"
#include "residency/geometry.hpp"

#include <cstdint>

namespace umadvisor::policy {

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
