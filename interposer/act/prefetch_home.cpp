#include "interposer/act/placement.hpp"
#include "interposer/act/prefetch.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/quiet.hpp"

#include <algorithm>

namespace umadvisor::act {

namespace {

/// What the host is expected to take back now that the program has waited.
struct HomeWays {
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

/// What was learned is told to the trace, for plans.
void tell_lessons(const Wait& wait, const policy::AllocationNames::Named& named) {
    policy::HostReturns::Lesson lesson;
    while (knowledge.host_returns.take_lesson(lesson)) {
        trace::HostReturn record;
        record.time = record::now();
        record.key = lesson.in_runs;
        record.first = lesson.first;
        record.last = lesson.last;
        record.given_up = lesson.given_up;
        if (!lesson.given_up) { // else its wait was long ago
            record.bytes = named.bytes;
            record.stack = wait.stack;
            record.allocation_stack = named.stack;
        }
        record::define(record);
    }
}

void expect(const Wait& wait, HomeWays& home) {
    Reached::Place place{};
    const auto name_of = [](std::uint64_t id) { return knowledge.names.find(id).name; };
    const record::Guard guard(knowledge.mutex);
    of_thread().reached.take(wait, place, name_of, [&](std::uint64_t id, std::uint64_t address) {
        observe::Allocation allocation;
        if (!observe::allocations().find(address, allocation) || allocation.id != id)
            return; // gone since
        const policy::AllocationNames::Named named = knowledge.names.find(id);
        knowledge.last_reach.wait(allocation.address, allocation.bytes, place.here, wait.begun);
        const policy::HostReturns::Span span = knowledge.host_returns.wait(
            place.here, id, allocation.address, allocation.bytes, policy::mix_known(place.in_runs, named.name));
        tell_lessons(wait, named);
        span.for_each_part([&](std::uint64_t first, std::uint64_t last) { home.add(id, first, last); });
    });
}

/// Has ranges brought behind what the stream has. Returns how many that was; the host will fault in the others,
/// as it would have.
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
            prefetching.fail(answer);
            break;
        }
        const record::Guard guard(knowledge.mutex);
        knowledge.residency.moved(range.allocation, range.address, range.address + range.bytes,
                                  policy::BlockState::host);
    }
    return brought;
}

void leave(const policy::PrefetchRange* ranges, std::uint32_t first, std::uint32_t count) {
    const record::Guard guard(knowledge.mutex);
    for (; first < count; ++first)
        knowledge.host_returns.leave(ranges[first].allocation);
}

void tell_comparison(std::uint64_t stack, bool leaves, bool whole) {
    trace::Comparison record;
    record.start = record::now();
    record.stack = stack;
    record.leaves = leaves ? 1 : 0;
    record.whole = whole ? 1 : 0;
    record::write(record);
}

} // namespace

void bring_home(const Wait& wait) noexcept {
    const record::OffStack<HomeWays> ways;
    HomeWays& home = *ways;
    expect(wait, home);
    if (home.count == 0)
        return;
    const CUstream stream =
        wait.what == Wait::For::stream ? reinterpret_cast<CUstream>(wait.stream) : CU_STREAM_PER_THREAD;
    std::uint32_t brought = 0;
    if (home.bytes >= policy::HostReturns::least_together && !of_thread().left.is_left())
        brought = bring(home.ranges, home.count, stream, wait.stack);
    if (brought != 0) {
        const record::Quiet quiet;
        attach::real<attach::Entry::cuStreamSynchronize>()(stream);
    }
    leave(home.ranges, brought, home.count);
}

void plan_returns(LaunchScope& launch) noexcept {
    const std::uint64_t now = record::monotonic_nanoseconds();
    const record::Guard guard(knowledge.mutex);
    for (std::uint32_t i = 0; i < launch.touched.managed_count; ++i) {
        const observe::Allocation& allocation = launch.touched.managed[i];
        const policy::LastReach::NextWait next = knowledge.last_reach.launch(
            allocation.address, allocation.bytes, reinterpret_cast<std::uint64_t>(launch.stream), now);
        if (next.place == 0 || launch.return_count + 2 > LaunchScope::most_returns)
            continue;
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
    leave(launch.returns, brings ? bring(launch.returns, launch.return_count, launch.stream, launch.stack) : 0,
          launch.return_count);
}

void LeftRound::end(std::uint64_t stack) noexcept {
    if (site == 0)
        return;
    const std::uint64_t now = run_time();
    const bool whole = site == stack && site_waits != waits && now >= least_end;
    if (whole || now > deadline) {
        tell_comparison(site, false, whole);
        site = 0;
    } else if (site != stack) {
        const record::Guard guard(knowledge.mutex);
        knowledge.compared_rounds.covered(stack);
    }
}

bool LeftRound::begin(std::uint64_t stack, std::uint64_t bytes) noexcept {
    if (stack == 0 || site != 0)
        return false;
    const std::uint64_t now = run_time();
    {
        const record::Guard guard(knowledge.mutex);
        if (knowledge.turns.tries() || !knowledge.compared_rounds.begins(stack, bytes, waits, now))
            return false;
        least_end = now + policy::ComparedRounds::least_ns;
        deadline = knowledge.compared_rounds.deadline(stack, now);
    }
    site = stack;
    site_waits = waits;
    tell_comparison(stack, true, false);
    return true;
}

} // namespace umadvisor::act
