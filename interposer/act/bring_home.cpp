#include "interposer/act/bring.hpp"
#include "interposer/act/knowledge.hpp"
#include "interposer/act/left_round.hpp"
#include "interposer/act/placement.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "policy/mix.hpp"

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
    reached().take(wait, place, name_of, [&](std::uint64_t id, std::uint64_t address) {
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
            prefetch_mode.fail(answer);
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

/// What is to follow the launch that the thread is making.
struct Behind {
    static constexpr std::uint32_t most = 32;
    std::uint32_t count;
    Launching launch;
    policy::PrefetchRange ranges[most];
};

Behind& behind() noexcept {
    return record::kept_of_thread<Behind, sizeof(Reached)>();
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
    if (home.bytes >= policy::HostReturns::least_together && !round_is_left())
        brought = bring(home.ranges, home.count, stream, wait.stack);
    if (brought != 0) {
        const record::Quiet quiet;
        attach::real<attach::Entry::cuStreamSynchronize>()(stream);
    }
    leave(home.ranges, brought, home.count);
}

void plan_return(const observe::Touched& touched, Launching launch) noexcept {
    Behind& list = behind();
    list.count = 0;
    list.launch = launch;
    const std::uint64_t now = record::monotonic_nanoseconds();
    const record::Guard guard(knowledge.mutex);
    for (std::uint32_t i = 0; i < touched.managed_count; ++i) {
        const observe::Allocation& allocation = touched.managed[i];
        const policy::LastReach::NextWait next = knowledge.last_reach.launch(
            allocation.address, allocation.bytes, reinterpret_cast<std::uint64_t>(launch.stream), now);
        if (next.place == 0 || list.count + 2 > Behind::most)
            continue;
        const policy::HostReturns::Span span =
            knowledge.host_returns.ahead_of_wait(next, allocation.id, allocation.address, allocation.bytes,
                                                 knowledge.residency.tried_block(allocation.id));
        span.for_each_part([&](std::uint64_t first, std::uint64_t last) {
            list.ranges[list.count++] = {allocation.id, first, last - first};
        });
    }
}

void return_behind(bool launched) noexcept {
    Behind& list = behind();
    if (list.count == 0)
        return;
    leave(list.ranges,
          launched && !round_is_left() ? bring(list.ranges, list.count, list.launch.stream, list.launch.stack)
                                       : 0,
          list.count);
    list.count = 0;
}

} // namespace umadvisor::act
