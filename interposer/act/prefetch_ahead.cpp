#include "interposer/act/devices.hpp"
#include "interposer/act/prefetch.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/contexts.hpp"
#include "interposer/observe/try_lock.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/quiet.hpp"
#include "policy/trust.hpp"

#include <algorithm>

namespace umadvisor::act {

namespace {

using attach::Entry;
using attach::real;

/// The stream beside the program's. It belongs to one context; when that is gone, the next that wants it takes
/// it over.
struct Side {
    std::uint16_t context = 0; ///< number; 0: none
    CUstream stream = nullptr;
    CUevent begins = nullptr; ///< what was launched before the current launch is done
    CUevent ends = nullptr;   ///< what was brought ahead is there
    CUdevice device = -1;
    Launching beside{}; ///< the launch that `moves` go along with
    Moves moves{{0, 0, 0, {}}, {0, 0, 0, {}}, 0, 0, 0, {}};
};

constinit observe::TryLock lock;              ///< guards `side`; a launch that moves ahead holds it
constinit std::atomic<bool> under_way{false}; ///< `ends` was recorded, and no launch has waited for it
constinit Side side;

constinit policy::Trust trust; ///< in what is foretold; knowledge.mutex guards it

bool make(std::uint16_t number) {
    if (side.context == number)
        return side.stream != nullptr;
    if (side.context != 0)
        return false;
    side = {};
    side.context = number;
    return real<Entry::cuEventCreate>()(&side.begins, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS &&
           real<Entry::cuEventCreate>()(&side.ends, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS &&
           real<Entry::cuStreamCreate>()(&side.stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS;
}

/// What the next launch is expected to reach; false: nothing of it is missing, or nobody knows.
bool foretell(const observe::Touched& running, observe::Touched& next) {
    const std::uint32_t device = observe::current_device();
    const record::Guard guard(knowledge.mutex);
    const bool met = std::any_of(running.managed, running.managed + running.managed_count,
                                 [](const observe::Allocation& each) { return trust.expects(each.address); });
    if (!trust.earned(met))
        return false;
    knowledge.sequence.foretell([&](std::uint64_t address, std::uint32_t launches) {
        observe::Allocation allocation;
        if (launches != 1 || next.managed_count == observe::Touched::max_managed)
            return false;
        if (observe::allocations().find(address, allocation) && allocation.memory == trace::Memory::managed)
            next.managed[next.managed_count++] = allocation;
        return true;
    });
    return !std::all_of(
        next.managed, next.managed + next.managed_count,
        [device](const observe::Allocation& each) { return knowledge.residency.resident(each.id, device); });
}

/// Whether there is anything to move; `side.moves` has it.
bool plan_next(const observe::Touched& running, const observe::Touched& next, CUstream stream) {
    Moves& moves = side.moves;
    moves.out.count = moves.in.count = 0;
    moves.given_up = moves.parted = 0;
    moves.shared_count = 0;
    plan_moves_ahead(running, next, side.device, stream, moves);
    if (moves.in.count == 0 && moves.out.count == 0)
        return false;
    const record::Guard guard(knowledge.mutex);
    trust.expect(next.managed[0].address);
    return true;
}

/// They are not made after all.
void forget_moves() {
    const record::Guard guard(knowledge.mutex);
    for (const policy::PrefetchPlan* const plan : {&side.moves.out, &side.moves.in})
        for (std::uint32_t i = 0; i < plan->count; ++i)
            knowledge.residency.moved(plan->ranges[i].allocation, plan->ranges[i].address,
                                      plan->ranges[i].address + plan->ranges[i].bytes,
                                      policy::BlockState::unknown);
}

/// Moves begin when what was launched before the current launch is done.
bool follow(CUstream stream) {
    if (real<Entry::cuEventRecord>()(side.begins, stream) == CUDA_SUCCESS &&
        real<Entry::cuStreamWaitEvent>()(side.stream, side.begins, 0) == CUDA_SUCCESS)
        return true;
    forget_moves();
    return false;
}

/// With everything set for bring_ahead().
bool prepare(const observe::Touched& running, const observe::Touched& next, const Launching& launch) {
    const record::Quiet quiet;
    const observe::RelaxedCapture relaxed;
    const std::uint16_t context = observe::current_context_number();
    if (context == 0 || observe::may_be_capturing(launch.stream) || !make(context))
        return false;
    side.device = current_device();
    if (side.device < 0 || !plan_next(running, next, launch.stream) || !follow(launch.stream))
        return false;
    side.beside = launch;
    return true;
}

} // namespace

void await_ahead(CUstream stream) noexcept {
    if (!under_way.load(std::memory_order_acquire))
        return;
    const observe::TryLock::Attempt attempt(lock);
    if (!attempt)
        return;
    const record::Quiet quiet;
    const observe::RelaxedCapture relaxed;
    // No other stream: it would wait for what this one has, which may wait for it.
    if (stream == side.beside.stream && side.context != 0 &&
        side.context == observe::current_context_number() && !observe::may_be_capturing(stream) &&
        real<Entry::cuStreamWaitEvent>()(stream, side.ends, 0) == CUDA_SUCCESS)
        under_way.store(false, std::memory_order_release);
}

void plan_ahead(LaunchScope& launch) noexcept {
    if (!knowledge.residency.crowded() || !lock.try_lock())
        return;
    const record::OffStack<observe::Touched> next;
    launch.moves_ahead = foretell(launch.touched, *next) && prepare(launch.touched, *next, launch);
    if (!launch.moves_ahead)
        lock.unlock();
}

void bring_ahead(LaunchScope& launch) noexcept {
    if (!launch.moves_ahead)
        return;
    const record::Quiet quiet;
    const observe::RelaxedCapture relaxed;
    make_moves(side.moves, side.device, {side.stream, side.beside.stack}, trace::Reason::next_launch);
    if (real<Entry::cuEventRecord>()(side.ends, side.stream) == CUDA_SUCCESS)
        under_way.store(true, std::memory_order_release);
    lock.unlock();
}

void forget_ahead(std::uint16_t context_number) noexcept {
    const observe::TryLock::Attempt attempt(lock);
    if (attempt && context_number != 0 && side.context == context_number) {
        side = {};
        under_way.store(false, std::memory_order_release);
    }
}

} // namespace umadvisor::act
