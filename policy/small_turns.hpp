/// How small managed memory that host and device share in each round of a loop moves between them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace umadvisor::policy {

/// Whether prefetches or page faults make rounds shorter for managed allocations of up to 64 KiB that launches
/// reach and that the host has again before the next round. It is decided from plain numbers, without CUDA.
///
/// It depends on the kernel: the driver finds that such memory thrashes, after some ten rounds, and maps it on
/// the host from then on. A kernel that writes it once is fastest so, and one with many atomics is far slower.
/// So rounds are timed: a round goes from a launch that reaches the allocation, the first after a wait, to the
/// next such launch at the same call site. From the third round on the allocation is prefetched in both
/// directions, then it is left to faults until the driver has come to rest, then the better way is kept. The
/// other one is tried again after 64, 256, 1024, ... rounds, as long as all trials together take a small share
/// of the run. One allocation is tried at a time, so that the times of rounds depend on it alone.
///
/// Times are in nanoseconds. Not thread-safe: the owner's lock covers it. An allocation that finds its slot in
/// use is prefetched to the device, so the table never grows.
class SmallTurns {
public:
    constexpr SmallTurns() noexcept = default;

    enum class Way : std::uint8_t {
        to_device, ///< prefetched before launches that miss it
        both,      ///< and to the host, behind the launch that is the last to reach it before the wait
        faults,    ///< not prefetched
    };

    /// A launch with the call stack `site`, which is not 0, is about to reach an allocation. `waits` changes
    /// when the program has waited. host_has() comes before it.
    Way launch(std::uint64_t allocation, std::uint64_t bytes, std::uint64_t site, std::uint64_t waits,
               std::uint64_t now) noexcept;
    /// The host has fetched the allocation since the last launch that reached it.
    void host_has(std::uint64_t allocation) noexcept;
    /// The allocation was prefetched to the host behind a launch.
    void returned(std::uint64_t allocation) noexcept;
    /// Something else takes time in the current rounds: they do not count.
    void disturb() noexcept { ++disturbances_; }

    /// The way since the last launch(); to_device for what was never shared.
    Way way(std::uint64_t allocation) const noexcept;
    /// Whether it was prefetched to the host since the last launch().
    bool has_returned(std::uint64_t allocation) const noexcept;
    /// Whether its rounds are timed here, so that nothing else has to compare them.
    bool compares(std::uint64_t allocation) const noexcept;
    /// Whether a way is tried now, so that other changes would spoil the times.
    bool tries() const noexcept { return trying_ != 0; }

    /// The program advises on the allocation or prefetches it, or several devices use it: it goes to_device for
    /// good, which then leaves all to others.
    void leave(std::uint64_t allocation, std::uint64_t bytes) noexcept;
    void forget(std::uint64_t allocation) noexcept;

    /// The way of an allocation that was chosen since the last call, where it is another one than before.
    struct Choice {
        std::uint64_t allocation = 0; ///< 0: none
        Way way = Way::to_device;
        std::uint64_t prefetched = 0, faulted = 0; ///< nanoseconds of a round, with prefetches and without
    };
    Choice take_choice() noexcept;

    static constexpr std::uint64_t most_bytes = 64 * 1024; ///< what one fault of the host moves
    static constexpr unsigned shared = 2;                  ///< rounds in a row before a trial
    static constexpr unsigned judged = 8;                  ///< rounds, the last ones of a trial
    static constexpr unsigned settling = 20; ///< rounds with faults until the driver has come to rest
    static constexpr unsigned first_again = 64, growth = 4; ///< rounds until the other way is tried again
    static constexpr std::uint64_t share = 128;             ///< trials cost one part in so many

private:
    enum class State : std::uint8_t {
        watching,
        trying_prefetches,
        trying_faults,
        settling_down, ///< faults again, after a trial of prefetches
        kept,
        left,
    };
    struct Entry {
        std::uint64_t allocation; ///< 0: free
        State state;
        Way way;
        Way prefetches; ///< to_device, where the last launch before the wait is not known
        bool chosen;    ///< there was a choice
        bool keeps_faults;
        // The current round:
        std::uint64_t site, waits, began, disturbances;
        unsigned elsewhere; ///< rounds that other call sites began, in a row
        bool came_back, returned, has_returned;
        // Rounds before, in this state:
        unsigned rounds, counted, shared, unreturned;
        std::uint64_t times[judged]; ///< of the last that counted
        // What ways take, and what trials do:
        std::uint64_t prefetched, faulted; ///< a round; 0: not known
        std::uint64_t trial_ns, trial_rounds, cost;
        unsigned again; ///< value of `rounds`
    };
    static constexpr std::size_t slots = 256;

    Entry* find(std::uint64_t allocation) noexcept;
    const Entry* find(std::uint64_t allocation) const noexcept;
    static void enter(Entry& entry, State state, Way way) noexcept;
    static std::uint64_t usual(const Entry& entry) noexcept;
    void end_round(Entry& entry, std::uint64_t now) noexcept;
    void begin_trial(Entry& entry, bool faults) noexcept;
    void judge_prefetches(Entry& entry) noexcept;
    void judge_faults(Entry& entry) noexcept;
    void keep(Entry& entry) noexcept;
    void give_up(Entry& entry) noexcept;
    void end_trial(Entry& entry) noexcept;
    bool is_due(const Entry& entry, std::uint64_t now) const noexcept;

    Entry entries_[slots] = {};
    std::uint64_t trying_ = 0; ///< allocation; 0: none
    unsigned unheard_ = 0;     ///< rounds of other allocations since the last one of the trial
    unsigned begun_trials_ = 0;
    std::uint64_t disturbances_ = 0;
    std::uint64_t begun_ = 0, spent_ = 0; ///< nanoseconds; begun_: the first launch of all
    Choice choice_;
};

} // namespace umadvisor::policy
