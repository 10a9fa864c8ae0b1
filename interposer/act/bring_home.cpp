#include "interposer/act/bring.hpp"
#include "interposer/act/knowledge.hpp"
#include "interposer/act/placement.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"

#include <algorithm>

namespace umadvisor::act {

namespace {

/// What the host is expected to take back now that the program has waited.
struct HomeWays {
    static constexpr std::uint32_t most = 256;
    std::uint32_t count = 0;
    std::uint64_t bytes = 0;
    PrefetchRange ranges[most];

    void add(std::uint64_t allocation, std::uint64_t first, std::uint64_t last) {
        if (first >= last || count == most)
            return;
        ranges[count++] = {allocation, first, last - first};
        bytes += last - first;
    }
};

/// What was learned is told to the trace, for plans.
void tell_lessons(const Wait& wait, const AllocationNames::Named& named) {
    HostReturns::Lesson lesson;
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
        const AllocationNames::Named named = knowledge.names.find(id);
        const std::uint64_t in_runs =
            place.in_runs == 0 ? 0 : (place.in_runs ^ named.name) * 0x9e3779b97f4a7c15 | 1;
        const HostReturns::Span span =
            knowledge.host_returns.wait(place.here, id, allocation.address, allocation.bytes, in_runs);
        tell_lessons(wait, named);
        const std::uint64_t behind =
            std::min(span.last, (span.left_out / block_bytes + 1) * block_bytes); // the block left to faults
        if (span.left_out == 0)
            home.add(id, span.first, span.last);
        else
            home.add(id, span.first, span.left_out), home.add(id, behind, span.last);
    });
    if (home.bytes >= HostReturns::least_together)
        return;
    for (std::uint32_t i = 0; i < home.count; ++i)
        knowledge.host_returns.leave(home.ranges[i].allocation);
    home.count = 0;
}

/// Brings it, and waits for it.
void bring(const HomeWays& home, CUstream stream) {
    const record::Quiet quiet;
    const observe::RelaxedCapture relaxed;
    if (observe::may_be_capturing(stream))
        return;
    for (std::uint32_t i = 0; i < home.count; ++i) {
        const PrefetchRange& range = home.ranges[i];
        const CUresult answer = prefetch_range(range, CU_DEVICE_CPU, stream, trace::Reason::host_returns);
        if (answer != CUDA_SUCCESS)
            return prefetch_mode.fail(answer); // the host will fault it in, as it would have
        const record::Guard guard(knowledge.mutex);
        knowledge.residency.moved(range.allocation, range.address, range.address + range.bytes,
                                  BlockState::host);
    }
    attach::real<attach::Entry::cuStreamSynchronize>()(stream);
}

} // namespace

void bring_home(const Wait& wait) noexcept {
    HomeWays home;
    expect(wait, home);
    if (home.count != 0)
        bring(home,
              wait.what == Wait::For::stream ? reinterpret_cast<CUstream>(wait.stream) : CU_STREAM_PER_THREAD);
}

} // namespace umadvisor::act
