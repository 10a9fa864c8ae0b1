/// `--act prefetch`: prefetches managed memory that a launch reaches to the device before the launch starts,
/// and managed memory that the host is expected to fetch after a wait to the host. This header has what the
/// parts of the action share; wrappers do not use it.
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
#include "policy/small_turns.hpp"

namespace umadvisor::act {

/// The action's knowledge of the program, one for the whole process.
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
    policy::SmallTurns small_turns;

    /// Whether the next launch that reaches the allocation is left to faults, which take less time.
    bool leaves_small(std::uint64_t allocation) const noexcept {
        return !residency.crowded() && small_turns.way(allocation) == policy::SmallTurns::Way::faults;
    }
};
extern constinit Knowledge knowledge;

/// Allocations that the calling thread's launches have reached since it last waited for them. All zeros: none.
/// Allocations beyond `most` are left out.
class Reached {
public:
    void add(const observe::Touched& touched, std::uint64_t stream) noexcept {
        for (std::uint32_t i = 0; i < touched.managed_count && count_ < most; ++i)
            if (const Entry entry{touched.managed[i].id, touched.managed[i].address, canonical(stream)};
                !has(entry))
                entries_[count_++] = entry;
    }

    /// Identifies a wait by its call stack and by the allocations that the launches before it reached.
    struct WaitSite {
        std::uint64_t key;        ///< the same within this run
        std::uint64_t stable_key; ///< the same in each run; 0: not known
    };

    /// Removes what `wait` covers and calls `visit(allocation, address)` for each, once `site` is known.
    /// `name_of(allocation)` is its policy::AllocationNames name, 0 without one.
    template <class NameOf, class Visit>
    void remove_covered(const Wait& wait, WaitSite& site, NameOf&& name_of, Visit&& visit) noexcept {
        if (wait.what == Wait::For::part)
            return;
        const auto covered = [&](const Entry& entry) {
            return wait.what == Wait::For::everything || entry.stream == canonical(wait.stream);
        };
        site = {wait.stack, record::stack_key(wait.stack)};
        for (std::uint32_t i = 0; i < count_; ++i)
            if (covered(entries_[i])) {
                site.key = policy::mix(site.key, entries_[i].address);
                site.stable_key = policy::mix_known(site.stable_key, name_of(entries_[i].allocation));
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

    /// The legacy stream has two handles.
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

/// A round of a thread that is left as it would be without prefetching (policy::ComparedRounds).
struct LeftRound {
    std::uint64_t waits;               ///< of the thread, so far
    std::uint64_t site;                ///< stack id; 0: no round is left alone
    std::uint64_t site_waits;          ///< value of `waits` at the round's begin
    std::uint64_t least_end, deadline; ///< nanoseconds

    bool is_left() const noexcept { return site != 0; }
    /// A launch with this call stack is about to be made: a round that was left alone may end with it.
    void end(std::uint64_t stack) noexcept;
    /// The same launch misses `bytes` that could be prefetched. Returns whether a round begins that is left
    /// alone.
    bool begin(std::uint64_t stack, std::uint64_t bytes) noexcept;
};

/// What prefetching keeps of a thread from call to call.
struct ThreadKnowledge {
    Reached reached;
    LeftRound left;
};
ThreadKnowledge& of_thread() noexcept;

/// Under the lock: a launch with this call stack is about to reach the allocation. Returns whether it is small
/// memory that is left to faults (policy::SmallTurns).
bool leave_small(const observe::Allocation& allocation, std::uint64_t stack, std::uint64_t now) noexcept;
/// Notes how small memory is to move from now on; the first few times.
void note_choice(const policy::SmallTurns::Choice& choice) noexcept;
/// Bytes of the plan without those of small memory, whose rounds SmallTurns compares. Locks knowledge.mutex.
std::uint64_t bytes_to_compare(const policy::PrefetchPlan& in) noexcept;

/// Prefetches to the device what the launch reaches and what that points to, and evicts to make room.
void bring_to_device(const observe::Touched& touched, Launching launch) noexcept;

/// Before a launch: finds the memory that it is the last to reach before the host is expected to fetch it.
/// After the launch: prefetches that memory to the host, if the launch succeeded.
void plan_returns(LaunchScope& launch) noexcept;
void make_returns(LaunchScope& launch) noexcept;
/// After a wait: prefetches to the host what it has fetched after such waits before. Returns when it is there.
void bring_to_host(const Wait& wait) noexcept;

/// What the next launch is expected to reach is prefetched while the current one runs. That happens only while
/// the device is full and we evict ourselves. Otherwise memory that is missing on the device was fetched by the
/// host, which may still use it. All migrations are on a stream of our own, after the launches before the
/// current one; the next launch on the same stream waits for them. One thread at a time prefetches ahead; the
/// others do not.
///
/// await_ahead(), before a launch: its stream waits for what was prefetched ahead. plan_ahead(), once the
/// launch's own memory is on its way: plans the migrations for the next launch. bring_ahead(), after the
/// launch: makes them.
void await_ahead(CUstream stream) noexcept;
void plan_ahead(LaunchScope& launch) noexcept;
void bring_ahead(LaunchScope& launch) noexcept;
/// The context has been destroyed, and our stream with it.
void forget_ahead(std::uint16_t context_number) noexcept;

/// What is to be done with an allocation that several devices reach.
struct SharedMove {
    policy::PrefetchRange range;
    bool begins_copies, ends_copies, brings;
    policy::DeviceTurns::Change change; ///< to be noted in the trace
};

/// Migrations after which a launch finds what it reaches on the device.
struct Moves {
    policy::PrefetchPlan out, in;
    std::uint64_t given_up = 0;     ///< id of an allocation that is left to faults now; 0: none
    std::uint64_t newly_shared = 0; ///< id of an allocation that several devices reach now; 0: none
    static constexpr std::uint32_t most_shared = 16;
    std::uint32_t shared_count = 0;
    SharedMove shared[most_shared];
};

/// Plans what to prefetch of `next`, for a launch that is expected after `running`, and what to evict for it;
/// the residency map then counts all of it as done. Memory that is needed as soon as what `running` reaches is
/// not evicted, so that `running` can go on meanwhile. Locks knowledge.mutex, and asks the driver without it.
void plan_moves_ahead(const observe::Touched& running, const observe::Touched& next, CUdevice device,
                      CUstream stream, Moves& moves) noexcept;

/// What the driver refuses is left to faults, as without us, and is not tried again. `reason` is that of
/// prefetches to the device.
void make_moves(const Moves& moves, CUdevice device, Launching launch, trace::Reason reason) noexcept;

/// All of a managed allocation was prefetched to its device. False if prefetching is off.
bool note_resident(const observe::Allocation& allocation) noexcept;

// Actions that depend on residency share one look at the page table.

/// Looks at the residency of what a launch is about to reach, where an action needs it.
void look_before_launch(const observe::Touched& touched) noexcept;

/// Which part prefetching needs a look at, and what the look showed (observe::LookVisit).
observe::LookRange prefetching_looks(const observe::Allocation& allocation,
                                     const observe::LookOccasion& occasion) noexcept;
void prefetching_sees(const observe::Allocation& allocation, observe::LookRange range, bool host) noexcept;
/// Whether the allocation was prefetched to the host after the last launch, at which the device had it.
bool was_brought(const observe::Allocation& allocation) noexcept;

/// The same for relief, which needs to know what has migrated back to the host.
observe::LookRange relief_looks(const observe::Allocation& allocation,
                                const observe::LookOccasion& occasion) noexcept;
void relief_sees(const observe::Allocation& allocation, std::uint64_t content) noexcept;

/// Whether [address, address + bytes) of an allocation is left to faults from now on (`alone`) or prefetched
/// again; 0 bytes: all of it.
void leave_to_faults(std::uint64_t address, std::uint64_t bytes, bool alone) noexcept;

} // namespace umadvisor::act
