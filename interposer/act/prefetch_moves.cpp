#include "interposer/act/devices.hpp"
#include "interposer/act/placement.hpp"
#include "interposer/act/prefetch.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/contexts.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/quiet.hpp"
#include "policy/prefetch_plan.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

namespace umadvisor::act {

namespace {

/// Device memory that is kept free. Where the driver has to evict itself, it chooses other blocks, and then the
/// residency map is wrong.
constexpr std::uint64_t slack = 2 * residency::block_bytes;

bool reaches(const observe::Touched& touched, std::uint64_t allocation) {
    return std::any_of(touched.managed, touched.managed + touched.managed_count,
                       [&](const observe::Allocation& each) { return each.id == allocation; });
}

/// Keeps those whose next use is later than that of everything that `running` reaches. Returns how many.
std::size_t keep_later(std::span<policy::Resident> residents, const observe::Touched& running) {
    std::uint32_t latest = 0;
    for (const policy::Resident& each : residents)
        if (reaches(running, each.view.allocation))
            latest = std::max(latest, each.next_use);
    const auto end = std::remove_if(residents.begin(), residents.end(), [&](const policy::Resident& each) {
        return each.next_use <= latest || reaches(running, each.view.allocation);
    });
    return static_cast<std::size_t>(end - residents.begin());
}

/// Plans what to evict for the launch; the residency map then counts it as done. `running`: see
/// plan_moves_ahead(); null: none.
void make_room(const observe::Touched& touched, const observe::Touched* running, std::uint32_t device,
               std::uint64_t bytes, policy::PrefetchPlan& out) {
    struct Free {
        void operator()(policy::Resident* residents) const { std::free(residents); }
    };
    const std::unique_ptr<policy::Resident, Free> memory(static_cast<policy::Resident*>(
        std::malloc((knowledge.residency.count() + 1) * sizeof(policy::Resident))));
    policy::Resident* const residents = memory.get();
    if (residents == nullptr)
        return;
    std::size_t count = 0;
    knowledge.residency.for_each_resident(
        device, [&](const policy::ResidencyView& view, std::uint64_t last_use) {
            if (!reaches(touched, view.allocation))
                residents[count++] = {view, policy::LaunchSequence::unknown, last_use};
        });
    policy::predict_next_uses({residents, count}, knowledge.sequence);
    if (running != nullptr)
        count = keep_later({residents, count}, *running);
    policy::plan_eviction({residents, count}, bytes, out);
    for (std::uint32_t i = 0; i < out.count; ++i)
        knowledge.residency.evicted(out.ranges[i].allocation, out.ranges[i].address,
                                    out.ranges[i].address + out.ranges[i].bytes);
}

/// Under the lock. Adds to `moves` what is to be done with an allocation that several devices reach.
void share(const observe::Allocation& allocation, CUdevice device, std::uint64_t held, Moves& moves) {
    using Step = policy::DeviceTurns::Step;
    if (moves.shared_count == Moves::most_shared)
        return;
    // On a full card eviction goes by blocks, and of shared allocations it is not known which device has them.
    const bool fits = !knowledge.residency.crowded() && held + allocation.bytes <= managed_capacity(device);
    Step step = Step::leave;
    if (fits)
        step = knowledge.turns.launch(allocation.id, allocation.bytes, static_cast<std::uint32_t>(device),
                                      knowledge.residency.synchronizations(), record::run_nanoseconds());
    else if (knowledge.turns.concerns(allocation.id))
        step = knowledge.turns.leave(allocation.id) ? Step::end_copies : Step::leave;
    const policy::DeviceTurns::Change change = knowledge.turns.take_change(allocation.id);
    if (step == Step::leave && change == policy::DeviceTurns::Change::none)
        return;
    moves.shared[moves.shared_count++] = {{allocation.id, allocation.address, allocation.bytes},
                                          step == Step::begin_copies,
                                          step == Step::end_copies || step == Step::end_and_bring,
                                          step == Step::bring || step == Step::begin_copies ||
                                              step == Step::end_and_bring,
                                          change};
}

/// Which of the launch's allocations are to be prefetched.
struct Selection {
    bool brought[observe::Touched::max_managed] = {}; ///< in the order of Touched::managed
    std::uint64_t missing = 0, held = 0;              ///< bytes; held: on the device
};

/// Under the lock. Also adds to `moves` what concerns allocations that are left to faults.
void select(const observe::Touched& touched, std::uint32_t device, CUstream stream, bool ahead,
            Selection& selection, Moves& moves) {
    policy::ResidencyMap& residency = knowledge.residency;
    for (std::uint32_t i = 0; i < touched.managed_count; ++i) {
        const observe::Allocation& allocation = touched.managed[i];
        policy::ResidencyView view;
        if (!residency.see(allocation.id, allocation.address, allocation.bytes, view))
            continue;
        const policy::ResidencyMap::Users users = residency.note_user(allocation.id, device);
        if (users == policy::ResidencyMap::Users::several_since_now)
            moves.newly_shared = allocation.id;
        if (users != policy::ResidencyMap::Users::this_device)
            knowledge.small_turns.leave(allocation.id, allocation.bytes);
        if (users == policy::ResidencyMap::Users::several_advised)
            knowledge.turns.leave(allocation.id);
        else if (users != policy::ResidencyMap::Users::this_device && !ahead)
            share(allocation, static_cast<CUdevice>(device), residency.device_bytes(device), moves);
        if (users != policy::ResidencyMap::Users::this_device || residency.resident(allocation.id, device) ||
            knowledge.leaves_small(allocation.id))
            continue;
        if (allocation.bytes > policy::SmallTurns::most_bytes)
            knowledge.small_turns.disturb();
        selection.brought[i] = residency.worth_bringing(allocation.id, reinterpret_cast<std::uint64_t>(stream));
        if (selection.brought[i])
            selection.missing += policy::missing_bytes({&view, 1});
        if (residency.just_given_up(allocation.id))
            moves.given_up = allocation.id;
    }
    selection.held = residency.device_bytes(device);
}

/// Under the lock. Returns the bytes that managed memory may have on the device once all is done.
std::uint64_t plan(const observe::Touched& touched, const observe::Touched* running, CUdevice ordinal,
                   const Selection& selection, Moves& moves) {
    policy::ResidencyMap& residency = knowledge.residency;
    const auto device = static_cast<std::uint32_t>(ordinal);
    struct Views {
        policy::ResidencyView all[observe::Touched::max_managed];
    };
    const record::OffStack<Views> reached;
    auto& views = reached->all;
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < touched.managed_count; ++i) {
        const observe::Allocation& allocation = touched.managed[i];
        if (selection.brought[i] &&
            residency.see(allocation.id, allocation.address, allocation.bytes, views[count]))
            ++count;
    }
    const std::uint64_t missing = policy::missing_bytes({views, count});
    const std::uint64_t capacity = managed_capacity(ordinal);
    const auto free = [&] { return capacity - std::min(capacity, residency.device_bytes(device)); };
    std::uint64_t kept_free = 0;
    if (missing > free()) {
        residency.crowd();
        kept_free = std::min(slack, capacity / 4);
        if (missing + kept_free > free())
            make_room(touched, running, device, missing + kept_free - free(), moves.out);
    }
    const std::uint64_t room = free();
    policy::plan_prefetch({views, count}, room - std::min(room, kept_free), moves.in);
    for (std::uint32_t i = 0; i < moves.in.count; ++i)
        residency.moved(moves.in.ranges[i].allocation, moves.in.ranges[i].address,
                        moves.in.ranges[i].address + moves.in.ranges[i].bytes, policy::BlockState::device);
    return capacity - kept_free;
}

/// Asks the driver for the device's free memory if what is missing might not fit. That is not done under the
/// lock.
Selection select_and_look(const observe::Touched& touched, CUdevice device, CUstream stream, bool ahead,
                          Moves& moves) {
    Selection selection;
    {
        const record::Guard guard(knowledge.mutex);
        select(touched, static_cast<std::uint32_t>(device), stream, ahead, selection, moves);
    }
    note_others_for(device, selection.held, selection.missing);
    return selection;
}

void make(const policy::PrefetchPlan& plan, CUdevice to, Launching launch, trace::Reason reason) {
    for (std::uint32_t i = 0; i < plan.count; ++i)
        if (const CUresult answer = prefetch_range(plan.ranges[i], to, launch.stream, reason, launch.stack);
            answer != CUDA_SUCCESS)
            modes::prefetch.fail(answer);
}

void note_change(const SharedMove& move) {
    const record::About about{.allocation = move.range.allocation};
    if (move.change == policy::DeviceTurns::Change::brings)
        record::note(about, "--act prefetch: a managed allocation is prefetched to each device that launches "
                            "after another one: this makes rounds shorter");
    else if (move.change == policy::DeviceTurns::Change::copies)
        record::note(about, "--act prefetch: SetReadMostly for a managed allocation that several devices use: "
                            "this makes rounds shorter");
    else if (move.change == policy::DeviceTurns::Change::gives_up)
        record::note(about, "--act prefetch: a managed allocation that several devices reach is left to faults "
                            "again: rounds became as long as before");
}

/// On a failure the memory is left as the program had it.
void make_shared(const SharedMove& move, CUdevice device, Launching launch) {
    note_change(move);
    CUresult answer = CUDA_SUCCESS;
    if (move.begins_copies)
        answer = advise(move.range, CU_MEM_ADVISE_SET_READ_MOSTLY, device, trace::Reason::read_by_both);
    if (move.ends_copies)
        answer = advise(move.range, CU_MEM_ADVISE_UNSET_READ_MOSTLY, device, trace::Reason::no_relief);
    const bool refused = move.begins_copies && answer != CUDA_SUCCESS; // there is no advice to withdraw
    if (answer == CUDA_SUCCESS && move.brings)
        answer = prefetch_range(move.range, device, launch.stream, trace::Reason::not_resident, launch.stack);
    if (answer == CUDA_SUCCESS)
        return;
    modes::prefetch.fail(answer);
    bool copies = false;
    {
        const record::Guard guard(knowledge.mutex);
        copies = knowledge.turns.leave(move.range.allocation);
    }
    if (copies && !refused)
        advise(move.range, CU_MEM_ADVISE_UNSET_READ_MOSTLY, device, trace::Reason::no_relief);
}

/// Plans what to evict for a launch on `stream` and what to prefetch of `touched`; the residency map then
/// counts it as done.
void plan_moves(const observe::Touched& touched, CUdevice device, CUstream stream, Moves& moves) {
    const Selection selection = select_and_look(touched, device, stream, false, moves);
    const record::Guard guard(knowledge.mutex);
    const std::uint64_t capacity = plan(touched, nullptr, device, selection, moves);
    for (std::uint32_t i = 0; i < touched.managed_count; ++i)
        knowledge.residency.launched(touched.managed[i].id, capacity);
}

/// The launch ends the rounds of what it reaches. Returns whether all of it is on the device already, or is
/// left to faults.
bool begin(const observe::Touched& touched, std::uint64_t stack, policy::SmallTurns::Choice& choice) {
    std::uint64_t addresses[observe::Touched::max_managed];
    bool resident = true;
    const std::uint32_t device = observe::current_device();
    const std::uint64_t now = record::run_nanoseconds();
    const record::Guard guard(knowledge.mutex);
    for (std::uint32_t i = 0; i < touched.managed_count; ++i) {
        const observe::Allocation& allocation = touched.managed[i];
        addresses[i] = allocation.address;
        knowledge.host_returns.launch(allocation.id);
        if (leave_small(allocation, stack, now))
            continue;
        const bool shared = knowledge.turns.concerns(allocation.id);
        if (!shared && knowledge.residency.resident(allocation.id, device))
            continue;
        resident = false;
        if (!shared)
            knowledge.pointees.read(allocation); // while the host still has it
    }
    knowledge.sequence.add({addresses, touched.managed_count});
    choice = knowledge.small_turns.take_choice();
    return resident;
}

/// Prefetches for one launch what it reaches and what that points to.
class LaunchPrefetch {
public:
    explicit LaunchPrefetch(Launching launch) noexcept : launch_(launch) {}

    /// Returns whether all of it was on the device already.
    bool run(const observe::Touched& touched, unsigned depth = 0) {
        of_thread().reached.add(touched, reinterpret_cast<std::uint64_t>(launch_.stream));
        policy::SmallTurns::Choice choice;
        bool resident = begin(touched, launch_.stack, choice);
        note_choice(choice);
        if (!resident && may_act())
            bring(touched);
        if (depth < most_depth)
            for (std::uint32_t i = 0; i < touched.managed_count; ++i)
                if (touched.managed[i].bytes <= Pointees::most_bytes)
                    resident = run_for_pointees(touched.managed[i].id, depth) && resident;
        if (touched.holds_pointers)
            for (const trace::AllocationId holder : touched.ids)
                resident = run_for_pointees(number(holder), depth) && resident;
        return resident;
    }

private:
    void bring(const observe::Touched& touched) {
        const record::OffStack<Moves> moves;
        plan_moves(touched, device_, launch_.stream, *moves);
        if (of_thread().left.is_left() || may_be_left(*moves))
            leave_to_faults(*moves);
        make_moves(*moves, device_, launch_, trace::Reason::not_resident);
    }

    /// Whether the round may be left alone. With evictions it may not: the residency map is right only if they
    /// are made.
    bool may_be_left(const Moves& moves) const {
        std::uint64_t bytes = bytes_to_compare(moves.in);
        for (std::uint32_t i = 0; i < moves.shared_count; ++i) {
            if (moves.shared[i].begins_copies || moves.shared[i].ends_copies)
                return false;
            bytes += moves.shared[i].brings ? moves.shared[i].range.bytes : 0;
        }
        if (moves.out.count != 0 || bytes == 0 || knowledge.residency.crowded())
            return false;
        return of_thread().left.begin(launch_.stack, bytes);
    }

    /// Leaves the round's memory to faults. Advice stays, since it concerns later rounds, too.
    static void leave_to_faults(Moves& moves) {
        moves.in.count = 0;
        for (std::uint32_t i = 0; i < moves.shared_count; ++i)
            moves.shared[i].brings = false;
        const record::Guard guard(knowledge.mutex);
        knowledge.small_turns.disturb();
    }

    static constexpr unsigned most_depth = 3;

    bool run_for_pointees(std::uint64_t holder, unsigned depth) {
        bool resident = true;
        std::uint64_t epoch = 0;
        for (std::uint32_t next = 0;;) {
            const record::OffStack<observe::Touched> pointed_at;
            observe::Touched& deeper = *pointed_at;
            {
                const record::Guard guard(knowledge.mutex);
                epoch = knowledge.residency.epoch();
                if (knowledge.pointees.settled(holder, epoch))
                    return true;
                next = knowledge.pointees.list(holder, next, deeper);
            }
            if (deeper.managed_count > left_)
                return false;
            left_ -= deeper.managed_count;
            if (deeper.managed_count != 0) {
                look_before_launch(deeper);
                resident = run(deeper, depth + 1) && resident;
            }
            if (next == 0)
                break;
        }
        const record::Guard guard(knowledge.mutex);
        if (resident)
            knowledge.pointees.settle(holder, epoch);
        return resident;
    }

    /// Asks the driver once a launch.
    bool may_act() {
        if (!relaxed_) {
            relaxed_.emplace();
            device_ = observe::may_be_capturing(launch_.stream) ? -1 : current_device();
        }
        return device_ >= 0;
    }

    Launching launch_;
    CUdevice device_ = -1;
    std::optional<observe::RelaxedCapture> relaxed_;
    std::uint32_t left_ = 2048; ///< pointees still to visit: pointers may form rings
};

} // namespace

void plan_moves_ahead(const observe::Touched& running, const observe::Touched& next, CUdevice device,
                      CUstream stream, Moves& moves) noexcept {
    const Selection selection = select_and_look(next, device, stream, true, moves);
    const record::Guard guard(knowledge.mutex);
    plan(next, &running, device, selection, moves);
}

void make_moves(const Moves& moves, CUdevice device, Launching launch, trace::Reason reason) noexcept {
    if (moves.given_up != 0)
        record::note(
            record::About{.allocation = moves.given_up},
            "--act prefetch: a managed allocation is left to faults for now: launches came for none of the "
            "blocks of it that were tried");
    if (moves.newly_shared != 0)
        record::note(record::About{.allocation = moves.newly_shared},
                     "--act prefetch: launches on several devices use a managed allocation: it is left to page "
                     "faults, except where prefetching makes rounds shorter");
    make(moves.out, CU_DEVICE_CPU, launch, trace::Reason::makes_room);
    make(moves.in, device, launch, reason);
    for (std::uint32_t i = 0; i < moves.shared_count; ++i)
        make_shared(moves.shared[i], device, launch);
}

void bring_to_device(const observe::Touched& touched, Launching launch) noexcept {
    const record::Quiet quiet;
    LaunchPrefetch(launch).run(touched);
}

} // namespace umadvisor::act
