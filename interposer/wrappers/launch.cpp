#include "interposer/wrappers/launch.hpp"

#include "interposer/act/prefetch.hpp"
#include "interposer/act/relieve.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/device_timer.hpp"
#include "interposer/observe/functions.hpp"
#include "interposer/observe/managed_watch.hpp"
#include "interposer/observe/residency_sampler.hpp"
#include "interposer/record/off_stack.hpp"

namespace umadvisor::wrappers {

namespace {

void describe_shape(trace::LaunchShape& shape, const LaunchCall& call, const observe::Function* function,
                    std::uint64_t stack, const observe::Touched& touched) {
    shape.entry = attach::index(call.entry);
    shape.function = function != nullptr ? function->id : 0;
    shape.stream = call.stream_name;
    shape.stack = stack;
    shape.grid_x = call.grid_x;
    shape.grid_y = call.grid_y;
    shape.grid_z = call.grid_z;
    shape.block_x = call.block_x;
    shape.block_y = call.block_y;
    shape.block_z = call.block_z;
    shape.shared_bytes = call.shared_bytes;
    shape.touched = touched.ids;
    shape.untold = touched.untold;
    shape.scanned = touched.scanned;
    shape.host_ranges = touched.host_ranges;
}

std::uint64_t timer_key(const LaunchCall& call, std::uint64_t function) {
    return function << 24 ^ std::uint64_t{call.grid_x} << 12 ^ std::uint64_t{call.grid_y} << 6 ^ call.grid_z ^
           std::uint64_t{call.block_x} << 40;
}

} // namespace

void begin_launch(NewLaunch& made, std::uint64_t stack, const LaunchCall& call) noexcept {
    const KeepErrno keep;
    // The generation first: what changes after it belongs to a later one, and so do launches remembered by it.
    made.generation = observe::allocations().generation();
    const bool captured = observe::is_captured(reinterpret_cast<CUstream>(call.stream_name));
    const observe::Function* const function = observe::function_of(call.function);
    const record::OffStack<observe::Touched> reached;
    observe::Touched& touched = *reached;
    const bool brief = observe::launches_are_brief();
    if (function != nullptr && !brief)
        observe::scan(*function, call.parameters, call.extra, touched);
    describe_shape(made.shape, call, function, stack, touched);
    made.shape.captured = captured;
    // The sampler and the actions look at every launch that they may have to do with.
    made.memorable = (touched.scanned || brief) && touched.managed_count == 0 && !touched.leads_on &&
                     function != nullptr && !captured &&
                     describe(call, *function, brief, stack, nullptr, made.key);
    observe::managed_watch().look();
    observe::residency_sampler().before_launch(touched);
    act::relieve(touched);
    act::before_launch(call.stream, call.entry, touched, stack);
    made.launch.sample =
        observe::device_timer().begin(reinterpret_cast<CUstream>(call.stream_name),
                                      timer_key(call, function != nullptr ? function->id : 0), made.period);
}

void finish_launch(NewLaunch& made, const LaunchCall& call) noexcept {
    const KeepErrno keep;
    act::after_launch(made.launch.status == CUDA_SUCCESS);
    if (made.launch.sample != 0)
        observe::device_timer().end(made.launch.sample, reinterpret_cast<CUstream>(call.stream_name));
    if (made.memorable)
        record::write(made.shape, made.launch, made.key, made.generation, made.period);
    else
        record::write(made.shape, made.launch);
}

void begin_timing(TimedLaunch& timed, const LaunchCall& call) noexcept {
    record::LaunchMemo::Entry& entry = timed.entry;
    const std::uint32_t passed = entry.left == 0 ? entry.interval : 1; // else it is measured after a pause
    timed.launch.shape = trace::BriefLaunch::shape(entry.head);
    timed.launch.stands_for = passed - 1;
    entry.untold += passed;
    if (entry.untold < entry.period)
        return;
    const observe::Function* const function = observe::known_function(call.function);
    timed.launch.sample =
        observe::device_timer().begin(reinterpret_cast<CUstream>(call.stream_name),
                                      timer_key(call, function != nullptr ? function->id : 0), entry.untold);
    entry.period = entry.untold;
    entry.untold = 0;
}

void finish_timing(TimedLaunch& timed, const LaunchCall& call) noexcept {
    if (timed.launch.sample != 0)
        observe::device_timer().end(timed.launch.sample, reinterpret_cast<CUstream>(call.stream_name));
    if (timed.entry.left == 0)
        timed.entry.draw(timed.launch.start);
    if (!record::recording())
        return;
    timed.writer.chunk.put(timed.launch);
    timed.writer.chunk.commit();
}

void write_failed(std::uint32_t head, std::uint64_t start, CUresult result) noexcept {
    trace::Launch launch;
    launch.shape = trace::BriefLaunch::shape(head);
    launch.start = start;
    launch.status = static_cast<std::uint64_t>(result);
    record::write(launch);
}

} // namespace umadvisor::wrappers
