/// What is tried for some rounds of a program, and kept where rounds are shorter so.
#pragma once

#include <cstddef>
#include <cstdint>

namespace umadvisor::policy {

/// Which rounds of the program --act prefetch leaves as they would be without it, so that what it gains is
/// measured. Plain numbers, no CUDA here.
///
/// A round begins with a launch that misses memory, the first after a wait, and ends with the next of these at
/// the same call site. Those that are left alone cost the faults that prefetches would have spared. So they are
/// left alone only when that comes to a small share of the time that has passed, all call sites together: short
/// programs are never compared. Short rounds are left alone by the dozen: the driver finds within milliseconds
/// that memory thrashes, and then serves faults otherwise.
///
/// Not thread-safe: its owner's lock covers it. Call sites that there is no room for are never compared.
class ComparedRounds {
public:
    constexpr ComparedRounds() noexcept = default;

    /// A launch at `site`, which is not 0, is about to be made and misses `bytes`; `waits` of its thread came
    /// before it; `now` in nanoseconds. True: nothing is to be brought from now on until a round begins, the
    /// first after `least_ns`.
    bool begins(std::uint64_t site, std::uint64_t bytes, std::uint64_t waits, std::uint64_t now) noexcept;

    /// After begins() was true: when that should have come at the latest.
    std::uint64_t deadline(std::uint64_t site, std::uint64_t now) const noexcept;

    /// `site` launches in a round that another one compares: that tells of it, too.
    void covered(std::uint64_t site) noexcept;

    static constexpr std::size_t most_sites = 64;
    static constexpr std::uint32_t first = 8;  ///< round that may be compared: the first ones are special
    static constexpr std::uint32_t growth = 4; ///< from one to the next
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
    Site* find(std::uint64_t name, bool take) noexcept;

    Site sites_[most_sites] = {};
    std::uint64_t begun_ = 0; ///< the first round of all
    std::uint64_t spent_ns_ = 0;
};

/// Managed memory that several devices reach: which way of moving it makes rounds shorter, decided from plain
/// numbers. No CUDA here.
///
/// Nobody sees which part of the memory a launch reaches, nor whether it writes. So rounds are timed: one goes
/// from a launch on one device, the first after one on another, to the next of these. While they are left to
/// faults, it may pay to
/// - bring all of it to the device of each launch that follows one on another device: where the program waits
///   in between, each may want what the other had;
/// - let each device have a copy (read-mostly): where launches of several devices run beside each other, or
///   where the devices take it from each other to read it.
/// Each way is tried for two rounds, and stays only where they are clearly shorter than those without. None is
/// tried where rounds are so short that faults cannot have moved much. One allocation is tried at a time, so
/// that rounds tell of it alone.
///
/// Times are in nanoseconds. Not thread-safe: its owner's lock covers it. Forgets rather than grows.
class DeviceTurns {
public:
    constexpr DeviceTurns() noexcept = default;

    enum class Step : std::uint8_t {
        leave,         ///< to faults
        bring,         ///< all of it to the launch's device
        begin_copies,  ///< give the advice, and bring
        end_copies,    ///< take the advice back
        end_and_bring, ///< both: copies are no better than bringing
    };
    /// A launch on `device` is about to reach an allocation that several devices have reached. `waits` is
    /// another number once the program has waited for the device.
    Step launch(std::uint64_t allocation, std::uint64_t bytes, std::uint32_t device, std::uint64_t waits,
                std::uint64_t now) noexcept;

    /// Whether launch() has to hear of it: it is not left to faults for good.
    bool concerns(std::uint64_t allocation) const noexcept;
    /// A way is being tried just now, and other changes would spoil the times.
    bool tries() const noexcept { return trying_ != 0; }

    /// A step was refused, or the program says where the memory is to be: it is left to faults. Whether there
    /// are copies that launch() has asked for.
    bool leave(std::uint64_t allocation) noexcept;
    void forget(std::uint64_t allocation) noexcept;

    /// Allocations that changed their way since this was last asked.
    enum class Change : std::uint8_t { none, brings, copies, gives_up };
    Change take_change(std::uint64_t allocation) noexcept;

    static constexpr std::uint64_t least_bytes = 256 * 1024;
    static constexpr unsigned watched = 2, tried = 2; ///< rounds
    static constexpr unsigned most_watched = 32;      ///< without anything to try

private:
    enum class State : std::uint8_t { watching, trying_bring, bringing, trying_copies, copying, left };
    struct Entry {
        std::uint64_t allocation; ///< 0: free
        State state;
        Change change;
        std::uint32_t anchor, last_device;
        std::uint64_t waits; ///< at the last launch
        // The round:
        std::uint64_t began, began_waits; ///< 0: not known when
        std::uint32_t turns;
        bool in_order; ///< each device waited for the other's launches
        // Rounds before:
        std::uint32_t rounds;            ///< in this state
        std::uint64_t last, before_last; ///< what they took; 0: not known
        std::uint64_t bare, baseline;    ///< without anything, and before what is tried
        std::uint32_t worse;             ///< running
        bool tried_bring, tried_copies;
    };
    static constexpr std::size_t places = 256;
    static constexpr std::uint32_t settled = 16; ///< rounds, before copies are tried instead of bringing

    Entry* find(std::uint64_t allocation) noexcept;
    Step end_round(Entry& entry, std::uint64_t bytes, std::uint64_t waits, std::uint64_t now) noexcept;
    Step try_something(Entry& entry, std::uint64_t bytes) noexcept;
    Step judge(Entry& entry, std::uint64_t took) noexcept;
    Step watch_over(Entry& entry, std::uint64_t took) noexcept;
    Step give_up(Entry& entry) noexcept;
    static void enter(Entry& entry, State state) noexcept;

    Entry entries_[places] = {};
    std::uint64_t trying_ = 0; ///< allocation; 0: none
};

} // namespace umadvisor::policy
