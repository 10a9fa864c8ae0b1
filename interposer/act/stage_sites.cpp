#include "interposer/act/stage_sites.hpp"

#include "interposer/act/plan.hpp"
#include "interposer/attach/entries.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/recorder.hpp"
#include "policy/stage_trials.hpp"

#include <atomic>

namespace umadvisor::act {

namespace {

record::Mutex mutex; ///< guards `trials`
constinit policy::StageTrials trials;
constinit trace::ClockPair begun{}; ///< written before the first copy, for the rate of the ticks
constinit std::atomic_flag told_of_plan{};

std::uint64_t name_of(std::uint64_t stack, policy::StageWay way) {
    return stack << 2 | static_cast<std::uint64_t>(way);
}

trace::Reason reason_of(policy::StageTrials::Choice choice) {
    switch (choice) {
    case policy::StageTrials::Choice::compare:
        return trace::Reason::compared;
    case policy::StageTrials::Choice::leave:
        return trace::Reason::slower_staged;
    default:
        return trace::Reason::none;
    }
}

/// GB/s.
double speed_of(const policy::StagePace& pace) {
    const trace::ClockPair now = record::read_clock_pair();
    const auto nanoseconds = static_cast<double>(now.monotonic_ns - begun.monotonic_ns) /
                             static_cast<double>(now.ticks - begun.ticks) * static_cast<double>(pace.ticks);
    return static_cast<double>(pace.bytes) / nanoseconds;
}

} // namespace

void initialize_stage_sites(const runtime::Options& options) noexcept {
    if (!options.act_auto)
        trials.only_measure();
    begun = record::read_clock_pair();
}

trace::Reason reason_to_leave(policy::StageWay way) noexcept {
    const std::uint64_t stack = record::stack();
    if (forbids_staging() && never_stage(record::stack_key(stack))) {
        if (!told_of_plan.test_and_set(std::memory_order_relaxed))
            record::note("--act stage: copies at call sites that the plan names are left to the driver");
        return trace::Reason::never_stage;
    }
    const record::Guard guard(mutex);
    return reason_of(trials.choose(name_of(stack, way)));
}

void detail::judge_staging(trace::Copy& copy) noexcept {
    if (copy.status != CUDA_SUCCESS)
        return;
    const policy::StageWay way = policy::stage_way(copy);
    const std::uint64_t name = name_of(copy.stack, way);
    const policy::StagePace pace{copy.bytes, copy.duration - copy.wait_duration};
    policy::StagePace staged;
    {
        const record::Guard guard(mutex);
        if (copy.staged != 0)
            return trials.staged(name, pace);
        if (!trials.compared(name, pace, staged))
            return;
    }
    copy.reason = trace::Reason::slower_staged;
    record::note(
        record::About{.stack = copy.stack},
        "--act stage: copies %s at one call site are left to the driver from now on, which moved %.1f GB/s, "
        "against %.1f GB/s staged",
        way == policy::StageWay::to_device ? "to the device" : "to the host", speed_of(pace), speed_of(staged));
}

} // namespace umadvisor::act
