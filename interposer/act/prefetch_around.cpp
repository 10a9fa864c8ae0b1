/// Prefetches around a launch: to the host after it and after waits, and to the device for the next launch.
#include "interposer/act/prefetch.hpp"

#include "interposer/act/devices.hpp"
#include "interposer/act/placement.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/contexts.hpp"
#include "interposer/observe/try_lock.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/quiet.hpp"
#include "policy/prefetch_plan.hpp"

#include <algorithm>

namespace umadvisor::act {

namespace {

using attach::Entry;
using attach::real;

/// What the host is expected to fetch now that the program has waited.
struct HostPrefetches {
    static constexpr std::uint32_t most = 256;
    std::uint32_t count = 0;
    std::uint64_t bytes = 0;
    policy::PrefetchRange ranges[most];

    void add(std::uint64_t allocation, std::uint64_t first, std::uint64_t last) {
        if (count == most)
            return;
        ranges[count++] = {allocation, first, last - first};
        bytes += last - first;
    }
};

/// Records what was learned, for plans.
void record_lessons(const Wait& wait, const policy::AllocationNames::Named& named) {
    policy::HostReturns::Lesson lesson;
    while (knowledge.host_returns.pop_lesson(lesson)) {
        trace::HostReturn record;
        record.time = record::now();
        record.key = lesson.stable_key;
        record.first = lesson.first;
        record.last = lesson.last;
        record.given_up = lesson.given_up;
        if (!lesson.given_up) { // a pattern that was given up belongs to an earlier wait
            record.bytes = named.bytes;
            record.stack = wait.stack;
            record.allocation_stack = named.stack;
        }
        record::define(record);
    }
}

void expect(const Wait& wait, HostPrefetches& expected) {
    Reached::WaitSite site{};
    const auto name_of = [](std::uint64_t id) { return knowledge.names.find(id).name; };
    const record::Guard guard(knowledge.mutex);
    of_thread().reached.remove_covered(wait, site, name_of, [&](std::uint64_t id, std::uint64_t address) {
        observe::Allocation allocation;
        if (!observe::allocations().find(address, allocation) || allocation.id != id)
            return; // freed since
        const policy::AllocationNames::Named named = knowledge.names.find(id);
        knowledge.last_reach.wait(allocation.address, allocation.bytes, site.key, wait.begun);
        const policy::HostReturns::Span span = knowledge.host_returns.wait(
            site.key, id, allocation.address, allocation.bytes, policy::mix_known(site.stable_key, named.name));
        record_lessons(wait, named);
        span.for_each_part([&](std::uint64_t first, std::uint64_t last) { expected.add(id, first, last); });
    });
}

/// Prefetches ranges to the host on `stream`. Returns how many were; the host faults in the others, as without
/// us.
std::uint32_t bring(const policy::PrefetchRange* ranges, std::uint32_t count, CUstream stream,
                    std::uint64_t stack) {
    const record::Quiet quiet;
    const observe::RelaxedCapture relaxed;
    if (observe::may_be_capturing(stream))
        return 0;
    std::uint32_t brought = 0;
    for (; brought < count; ++brought) {
        const policy::PrefetchRange& range = ranges[brought];
        const CUresult answer =
            prefetch_range(range, CU_DEVICE_CPU, stream, trace::Reason::host_returns, stack);
        if (answer != CUDA_SUCCESS) {
            modes::prefetch.fail(answer);
            break;
        }
        const record::Guard guard(knowledge.mutex);
        knowledge.residency.moved(range.allocation, range.address, range.address + range.bytes,
                                  policy::BlockState::host);
        knowledge.small_turns.returned(range.allocation);
    }
    return brought;
}

void cancel(const policy::PrefetchRange* ranges, std::uint32_t first, std::uint32_t count) {
    const record::Guard guard(knowledge.mutex);
    for (; first < count; ++first)
        knowledge.host_returns.cancel(ranges[first].allocation);
}

void record_comparison(std::uint64_t stack, bool leaves, bool whole) {
    trace::Comparison record;
    record.start = record::now();
    record.stack = stack;
    record.leaves = leaves ? 1 : 0;
    record.whole = whole ? 1 : 0;
    record::write(record);
}

} // namespace

void bring_to_host(const Wait& wait) noexcept {
    const record::OffStack<HostPrefetches> memory;
    HostPrefetches& expected = *memory;
    expect(wait, expected);
    if (expected.count == 0)
        return;
    const CUstream stream =
        wait.what == Wait::For::stream ? reinterpret_cast<CUstream>(wait.stream) : CU_STREAM_PER_THREAD;
    std::uint32_t brought = 0;
    if (expected.bytes >= policy::HostReturns::least_together && !of_thread().left.is_left())
        brought = bring(expected.ranges, expected.count, stream, wait.stack);
    if (brought != 0) {
        const record::Quiet quiet;
        real<Entry::cuStreamSynchronize>()(stream);
    }
    cancel(expected.ranges, brought, expected.count);
}

void plan_returns(LaunchScope& launch) noexcept {
    const std::uint64_t now = record::run_nanoseconds();
    const record::Guard guard(knowledge.mutex);
    for (std::uint32_t i = 0; i < launch.touched.managed_count; ++i) {
        const observe::Allocation& allocation = launch.touched.managed[i];
        const policy::LastReach::NextWait next = knowledge.last_reach.launch(
            allocation.address, allocation.bytes, reinterpret_cast<std::uint64_t>(launch.stream), now);
        if (next.site == 0 || launch.return_count + 2 > LaunchScope::most_returns)
            continue;
        if (knowledge.small_turns.way(allocation.id) == policy::SmallTurns::Way::both) {
            if (!knowledge.residency.crowded())
                launch.returns[launch.return_count++] = {allocation.id, allocation.address, allocation.bytes};
            continue;
        }
        const policy::HostReturns::Span span =
            knowledge.host_returns.ahead_of_wait(next, allocation.id, allocation.address, allocation.bytes,
                                                 knowledge.residency.tried_block(allocation.id));
        span.for_each_part([&](std::uint64_t first, std::uint64_t last) {
            launch.returns[launch.return_count++] = {allocation.id, first, last - first};
        });
    }
}

void make_returns(LaunchScope& launch) noexcept {
    if (launch.return_count == 0)
        return;
    const bool brings = launch.launched && !of_thread().left.is_left();
    cancel(launch.returns, brings ? bring(launch.returns, launch.return_count, launch.stream, launch.stack) : 0,
           launch.return_count);
}

void LeftRound::end(std::uint64_t stack) noexcept {
    if (site == 0)
        return;
    const std::uint64_t now = record::run_nanoseconds();
    const bool whole = site == stack && site_waits != waits && now >= least_end;
    if (whole || now > deadline) {
        record_comparison(site, false, whole);
        site = 0;
    } else if (site != stack) {
        const record::Guard guard(knowledge.mutex);
        knowledge.compared_rounds.covered(stack);
    }
}

bool LeftRound::begin(std::uint64_t stack, std::uint64_t bytes) noexcept {
    if (stack == 0 || site != 0)
        return false;
    const std::uint64_t now = record::run_nanoseconds();
    {
        const record::Guard guard(knowledge.mutex);
        if (knowledge.turns.tries() || knowledge.small_turns.tries() ||
            !knowledge.compared_rounds.begins(stack, bytes, waits, now))
            return false;
        least_end = now + policy::ComparedRounds::least_ns;
        deadline = knowledge.compared_rounds.deadline(stack, now);
    }
    site = stack;
    site_waits = waits;
    record_comparison(stack, true, false);
    return true;
}

namespace {

/// The side stream belongs to one context. When that context is destroyed, the next one that needs it takes it
/// over.
struct Side {
    std::uint16_t context = 0; ///< number; 0: none
    CUstream stream = nullptr;
    CUevent begins = nullptr; ///< launches before the current one are done
    CUevent ends = nullptr;   ///< prefetches ahead are done
    CUdevice device = -1;
    Launching beside{}; ///< the launch that runs while `moves` are made
    Moves moves{{0, 0, 0, {}}, {0, 0, 0, {}}, 0, 0, 0, {}};
};

constinit observe::TryLock lock;              ///< guards `side`; held by a launch that prefetches ahead
constinit std::atomic<bool> under_way{false}; ///< `ends` was recorded, and no launch has waited for it
constinit Side side;

constinit policy::Trust trust; ///< in what is predicted; knowledge.mutex guards it

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

/// Fills in what the next launch is expected to reach. False if none of it is missing, or nothing is expected.
bool predict(const observe::Touched& running, observe::Touched& next) {
    const std::uint32_t device = observe::current_device();
    const record::Guard guard(knowledge.mutex);
    const bool met = std::any_of(running.managed, running.managed + running.managed_count,
                                 [](const observe::Allocation& each) { return trust.expects(each.address); });
    if (!trust.earned(met))
        return false;
    knowledge.sequence.predict([&](std::uint64_t address, std::uint32_t launches) {
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

/// Plans `side.moves`. False if nothing has to move.
bool plan_next(const observe::Touched& running, const observe::Touched& next, CUstream stream) {
    Moves& moves = side.moves;
    moves.out.count = moves.in.count = 0;
    moves.given_up = moves.newly_shared = 0;
    moves.shared_count = 0;
    plan_moves_ahead(running, next, side.device, stream, moves);
    if (moves.in.count == 0 && moves.out.count == 0)
        return false;
    const record::Guard guard(knowledge.mutex);
    trust.expect(next.managed[0].address);
    return true;
}

/// The planned moves are not made.
void forget_moves() {
    const record::Guard guard(knowledge.mutex);
    for (const policy::PrefetchPlan* const plan : {&side.moves.out, &side.moves.in})
        for (std::uint32_t i = 0; i < plan->count; ++i)
            knowledge.residency.moved(plan->ranges[i].allocation, plan->ranges[i].address,
                                      plan->ranges[i].address + plan->ranges[i].bytes,
                                      policy::BlockState::unknown);
}

/// Has the side stream wait for the launches before the current one.
bool follow(CUstream stream) {
    if (real<Entry::cuEventRecord>()(side.begins, stream) == CUDA_SUCCESS &&
        real<Entry::cuStreamWaitEvent>()(side.stream, side.begins, 0) == CUDA_SUCCESS)
        return true;
    forget_moves();
    return false;
}

/// Whether all is set for bring_ahead().
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
    // Only the same stream waits: another one would wait for work of this stream, which may wait for the other.
    if (stream == side.beside.stream && side.context != 0 &&
        side.context == observe::current_context_number() && !observe::may_be_capturing(stream) &&
        real<Entry::cuStreamWaitEvent>()(stream, side.ends, 0) == CUDA_SUCCESS)
        under_way.store(false, std::memory_order_release);
}

void plan_ahead(LaunchScope& launch) noexcept {
    if (!knowledge.residency.crowded() || !lock.try_lock())
        return;
    const record::OffStack<observe::Touched> next;
    launch.moves_ahead = predict(launch.touched, *next) && prepare(launch.touched, *next, launch);
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
