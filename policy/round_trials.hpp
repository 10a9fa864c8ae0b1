/// Strategies that are tried for some rounds of a program, and kept where they make rounds shorter.
#pragma once

#include <cstddef>
#include <cstdint>

namespace umadvisor::policy {

/// Which rounds of the program --act prefetch leaves as they would be without it, so that its gain is measured.
/// It is decided from plain numbers, without CUDA.
///
/// A round begins with a launch that misses memory, the first after a wait, and ends with the next such launch
/// at the same call site. A round that is left alone costs the faults that prefetches would have spared. So
/// rounds are left alone only as long as these faults take a small share of the run so far, for all call sites
/// together: short programs are never compared. Short rounds are left alone by the dozen, because the driver
/// takes milliseconds to find thrashing, and then serves faults in another way.
///
/// Not thread-safe: the owner's lock covers it. Call sites beyond `most_sites` are never compared.
class ComparedRounds {
public:
    constexpr ComparedRounds() noexcept = default;

    /// A launch at `site`, which is not 0, is about to be made and misses `bytes`; its thread has waited
    /// `waits` times before; `now` is in nanoseconds. True: nothing is to be prefetched until the first round
    /// that begins after `least_ns`.
    bool begins(std::uint64_t site, std::uint64_t bytes, std::uint64_t waits, std::uint64_t now) noexcept;

    /// The time by which that round should have begun, after begins() was true.
    std::uint64_t deadline(std::uint64_t site, std::uint64_t now) const noexcept;

    /// `site` launches in a round that another site compares, so it needs no comparison of its own.
    void covered(std::uint64_t site) noexcept;

    static constexpr std::size_t most_sites = 64;
    static constexpr std::uint32_t first =
        8; ///< round that may be compared: the first rounds differ from the others
    static constexpr std::uint32_t growth = 4; ///< of the round number, from one comparison to the next
    static constexpr std::uint64_t share = 32; ///< comparing costs one part in so many
    static constexpr std::uint64_t least_ns = 4'000'000;

private:
    struct Site {
        std::uint64_t name = 0; ///< 0: free
        std::uint64_t waits = 0;
        std::uint64_t began = 0, last_ns = 0; ///< the last round
        std::uint32_t rounds = 0, next = first;
        bool covered = false;
    };
    Site* find(std::uint64_t name, bool claim) noexcept;

    Site sites_[most_sites] = {};
    std::uint64_t begun_ = 0; ///< time of the first round of all
    std::uint64_t spent_ns_ = 0;
};

/// Which strategy makes rounds shorter for managed memory that several devices reach. It is decided from plain
/// numbers, without CUDA.
///
/// The recorder sees neither which part of the memory a launch reaches nor whether it writes. So rounds are
/// timed: a round goes from a launch on one device, the first after one on another device, to the next such
/// launch. Instead of faults there are two strategies:
/// - prefetch all of the allocation to the device of each launch that follows one on another device. It can pay
///   where the program waits in between and each device needs what the other one had;
/// - give each device a copy (read-mostly). It can pay where launches of several devices run concurrently, or
///   where each device only reads what it faults in from the other.
/// A strategy is tried for two rounds and kept only if they are clearly shorter than those without. Nothing is
/// tried where rounds are so short that faults cannot have moved much. One allocation is tried at a time, so
/// that the times of rounds depend on it alone.
///
/// Times are in nanoseconds. Not thread-safe: the owner's lock covers it. An allocation that finds its slot in
/// use is left to faults, so the table never grows.
class DeviceTurns {
public:
    constexpr DeviceTurns() noexcept = default;

    enum class Step : std::uint8_t {
        leave,         ///< to faults
        bring,         ///< prefetch all of it to the launch's device
        begin_copies,  ///< give the advice, and prefetch
        end_copies,    ///< withdraw the advice
        end_and_bring, ///< withdraw the advice and prefetch: copies are no better than prefetches
    };
    /// A launch on `device` is about to reach an allocation that several devices have reached. `waits` changes
    /// when the program has waited for the device.
    Step launch(std::uint64_t allocation, std::uint64_t bytes, std::uint32_t device, std::uint64_t waits,
                std::uint64_t now) noexcept;

    /// Whether launch() has to be called for it: it is not left to faults for good.
    bool concerns(std::uint64_t allocation) const noexcept;
    /// Whether a strategy is tried now, so that other changes would spoil the times.
    bool tries() const noexcept { return trying_ != 0; }

    /// Leaves the allocation to faults: a step was refused, or the program has advised where the memory is to
    /// be. Returns whether launch() has asked for copies, which are to be ended.
    bool leave(std::uint64_t allocation) noexcept;
    void forget(std::uint64_t allocation) noexcept;

    /// How the strategy of an allocation changed since the last call.
    enum class Change : std::uint8_t { none, brings, copies, gives_up };
    Change take_change(std::uint64_t allocation) noexcept;

    static constexpr std::uint64_t least_bytes = 256 * 1024;
    static constexpr unsigned watched = 2, tried = 2; ///< rounds
    static constexpr unsigned most_watched = 32;      ///< without a trial

private:
    enum class State : std::uint8_t { watching, trying_bring, bringing, trying_copies, copying, left };
    struct Entry {
        std::uint64_t allocation; ///< 0: free
        State state;
        Change change;
        std::uint32_t anchor, last_device;
        std::uint64_t waits; ///< at the last launch
        // The current round:
        std::uint64_t began, began_waits; ///< 0: not known
        std::uint32_t turns;
        bool in_order; ///< each device waited for the other's launches
        // Rounds before:
        std::uint32_t rounds;            ///< in this state
        std::uint64_t last, before_last; ///< times of rounds; 0: not known
        std::uint64_t bare, baseline;    ///< times with faults alone, and before the strategy that is tried
        std::uint32_t worse;             ///< rounds in a row
        bool tried_bring, tried_copies;
    };
    static constexpr std::size_t slots = 256;
    static constexpr std::uint32_t settled = 16; ///< rounds before copies are tried instead of prefetches

    Entry* find(std::uint64_t allocation) noexcept;
    Step end_round(Entry& entry, std::uint64_t bytes, std::uint64_t waits, std::uint64_t now) noexcept;
    Step try_something(Entry& entry, std::uint64_t bytes) noexcept;
    Step judge(Entry& entry, std::uint64_t took) noexcept;
    Step watch_over(Entry& entry, std::uint64_t took) noexcept;
    Step give_up(Entry& entry) noexcept;
    static void enter(Entry& entry, State state) noexcept;

    Entry entries_[slots] = {};
    std::uint64_t trying_ = 0; ///< allocation; 0: none
};

} // namespace umadvisor::policy
