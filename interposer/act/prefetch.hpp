/// `--act prefetch`: managed memory that a launch reaches is on the device before it starts, and what the host
/// is known to take back at a wait is brought home there. What its parts share; wrappers know of none of it.
#pragma once

#include "interposer/act/action.hpp"
#include "interposer/act/pointees.hpp"
#include "interposer/observe/residency_sampler.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/recorder.hpp"
#include "policy/host_returns.hpp"
#include "policy/mix.hpp"
#include "policy/prefetch_plan.hpp"
#include "policy/residency_map.hpp"
#include "policy/round_trials.hpp"

namespace umadvisor::act {

/// What the process's prefetching knows of the program and goes by.
struct Knowledge {
    record::Mutex mutex{record::Lock::actions}; ///< guards the rest; never held during a call of the driver
    policy::ResidencyMap residency;
    policy::HostReturns host_returns;
    policy::LastReach last_reach;
    policy::AllocationNames names;
    Pointees pointees;
    policy::LaunchSequence sequence;
    policy::ComparedRounds compared_rounds;
    policy::DeviceTurns turns;
};
extern constinit Knowledge knowledge;

/// What the calling thread's launches have reached since it last waited for them. Plain data, all zeros when
/// empty. What it has no room for is left out.
class Reached {
public:
    void add(const observe::Touched& touched, std::uint64_t stream) noexcept {
        for (std::uint32_t i = 0; i < touched.managed_count && count_ < most; ++i)
            if (const Entry entry{touched.managed[i].id, touched.managed[i].address, canonical(stream)};
                !has(entry))
                entries_[count_++] = entry;
    }

    /// Where in the program, after launches that reached what.
    struct Place {
        std::uint64_t here;    ///< the same whenever it waits there for launches that reached the same
        std::uint64_t in_runs; ///< the same in each run, too; 0: not known
    };

    /// Takes out what `wait` covers and calls `visit(allocation, address)` for each. `name_of(allocation)` is
    /// its name in each run, 0 where it has none.
    template <class NameOf, class Visit>
    void take(const Wait& wait, Place& place, NameOf&& name_of, Visit&& visit) noexcept {
        if (wait.what == Wait::For::part)
            return;
        const auto covered = [&](const Entry& entry) {
            return wait.what == Wait::For::everything || entry.stream == canonical(wait.stream);
        };
        place = {wait.stack, record::stack_key(wait.stack)};
        for (std::uint32_t i = 0; i < count_; ++i)
            if (covered(entries_[i])) {
                place.here = policy::mix(place.here, entries_[i].address);
                place.in_runs = policy::mix_known(place.in_runs, name_of(entries_[i].allocation));
            }
        std::uint32_t left = 0;
        for (std::uint32_t i = 0; i < count_; ++i)
            if (covered(entries_[i]))
                visit(entries_[i].allocation, entries_[i].address);
            else
                entries_[left++] = entries_[i];
        count_ = left;
    }

private:
    static constexpr std::uint32_t most = 256;
    struct Entry {
        std::uint64_t allocation, address, stream;
        bool operator==(const Entry&) const = default;
    };

    /// The legacy stream has two names.
    static std::uint64_t canonical(std::uint64_t stream) noexcept {
        return reinterpret_cast<CUstream>(stream) == CU_STREAM_LEGACY ? 0 : stream;
    }
    bool has(const Entry& entry) const noexcept {
        for (std::uint32_t i = 0; i < count_; ++i)
            if (entries_[i] == entry)
                return true;
        return false;
    }

    std::uint32_t count_ = 0;
    Entry entries_[most] = {};
};

/// The round of a thread that is left as it would be without prefetching (policy::ComparedRounds).
struct LeftRound {
    std::uint64_t waits;               ///< of the thread, so far
    std::uint64_t site;                ///< stack id; 0: no round is left alone
    std::uint64_t site_waits;          ///< at its begin
    std::uint64_t least_end, deadline; ///< nanoseconds

    bool is_left() const noexcept { return site != 0; }
    /// A launch with this call stack is about to be made: a round that was left alone may end with it.
    void end(std::uint64_t stack) noexcept;
    /// The same launch misses `bytes` that could be brought. Whether a round begins that is left alone.
    bool begin(std::uint64_t stack, std::uint64_t bytes) noexcept;
};

/// What prefetching keeps of a thread from call to call.
struct ThreadKnowledge {
    Reached reached;
    LeftRound left;
};
ThreadKnowledge& of_thread() noexcept;

/// Nanoseconds since some moment, by which actions are judged; simcuda's, which has a clock of its own, where
/// it runs.
inline std::uint64_t run_time() noexcept {
    return record::clock_kind() == trace::ClockKind::simulated ? record::now()
                                                               : record::monotonic_nanoseconds();
}

/// To the device: what the launch reaches, what that points to, and room for it.
void bring_to_device(const observe::Touched& touched, Launching launch) noexcept;

/// Before a launch: finds what it is the last to reach before the host, as is known, wants it. After it: sends
/// that to the host behind it, unless it was not launched.
void plan_returns(LaunchScope& launch) noexcept;
void make_returns(LaunchScope& launch) noexcept;
/// After a wait: brings to the host what it has taken back after such a wait before. Returns when it is there.
void bring_home(const Wait& wait) noexcept;

/// What the next launch is expected to reach moves while the current one runs: only where the device is full
/// and we make room ourselves, since elsewhere what is missing is what the host took, and nobody knows whether
/// it is done with it. All moves are on a stream of our own, behind what was launched before the current
/// launch; the next launch on the same stream waits for them. One thread at a time brings anything ahead, the
/// others go without.
///
/// Before a launch: its stream waits for what was brought ahead; once what it reaches is on its way, finds what
/// to bring for the next one. After it: has that moved.
void await_ahead(CUstream stream) noexcept;
void plan_ahead(LaunchScope& launch) noexcept;
void bring_ahead(LaunchScope& launch) noexcept;
/// The context is gone, and our stream in it.
void forget_ahead(std::uint16_t context_number) noexcept;

/// What is to be done about memory that several devices reach.
struct SharedMove {
    policy::PrefetchRange range;
    bool begins_copies, ends_copies, brings;
    policy::DeviceTurns::Change change; ///< to be told
};

/// What has to move so that a launch finds what it reaches on the device.
struct Moves {
    policy::PrefetchPlan out, in;
    std::uint64_t given_up = 0, parted = 0; ///< ids of allocations; 0: none
    static constexpr std::uint32_t most_shared = 16;
    std::uint32_t shared_count = 0;
    SharedMove shared[most_shared];
};

/// What is missing of `next` for a launch that is expected after `running`, and what others have to leave to
/// it; taken for done. Nothing leaves that is wanted as soon as what `running` reaches, so that it can go on
/// meanwhile. Takes knowledge.mutex, and asks the driver without it.
void plan_moves_ahead(const observe::Touched& running, const observe::Touched& next, CUdevice device,
                      CUstream stream, Moves& moves) noexcept;

/// What the driver refuses is left to faults, as it would have been; it is not tried again and again. `reason`
/// of what comes to the device.
void make_moves(const Moves& moves, CUdevice device, Launching launch, trace::Reason reason) noexcept;

/// All of a managed allocation was brought to its device. False: prefetching is off, and nobody goes by it.
bool note_resident(const observe::Allocation& allocation) noexcept;

// What those who act on where memory is tell each other: one look serves all of them.

extern constinit Action relieving, prefetching;

/// What a launch is about to reach is looked at where that tells anything.
void look_before_launch(const observe::Touched& touched) noexcept;

/// Where a look tells prefetching anything, and what it tells (observe::LookVisit).
observe::LookRange prefetching_looks(const observe::Allocation& allocation,
                                     const observe::LookOccasion& occasion) noexcept;
void prefetching_sees(const observe::Allocation& allocation, observe::LookRange range, bool host) noexcept;
/// Whether the host has what it was brought after the last launch: the device had it then.
bool was_brought(const observe::Allocation& allocation) noexcept;

/// The same of relief, which goes by what has come back.
observe::LookRange relief_looks(const observe::Allocation& allocation,
                                const observe::LookOccasion& occasion) noexcept;
void relief_sees(const observe::Allocation& allocation, std::uint64_t content) noexcept;

/// [address, address + bytes) of an allocation is not to be brought to the device, or is again; 0 bytes: all of
/// it.
void leave_to_faults(std::uint64_t address, std::uint64_t bytes, bool alone) noexcept;

} // namespace umadvisor::act
