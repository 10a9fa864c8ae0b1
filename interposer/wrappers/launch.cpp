#include "interposer/wrappers/launch.hpp"

#include "interposer/observe/capture.hpp"
#include "interposer/observe/functions.hpp"
#include "interposer/observe/managed_watch.hpp"
#include "interposer/observe/residency_sampler.hpp"

#include <limits>

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
    shape.untold = touched.omitted;
    shape.scanned = touched.scanned;
    shape.host_ranges = touched.host_ranges;
}

bool is_captured(const LaunchCall& call) {
    return observe::is_captured(reinterpret_cast<CUstream>(call.stream_name));
}

/// The key of a launch that becomes a node. Its parameters are no part of it, since the node says what it
/// reaches. The last word sets it apart from the key of a brief launch.
record::LaunchKey captured_key(const LaunchCall& call, const observe::Function& function, std::uint64_t stack) {
    record::LaunchKey key;
    describe(call, function, true, 0, nullptr, key);
    key.add(stack);
    key.add(1);
    return key;
}

std::uint64_t timer_key(const LaunchCall& call, std::uint64_t function) {
    return function << 24 ^ std::uint64_t{call.grid_x} << 12 ^ std::uint64_t{call.grid_y} << 6 ^ call.grid_z ^
           std::uint64_t{call.block_x} << 40;
}

} // namespace

record::LaunchMemo::Entry* recall_captured(const LaunchCall& call, std::uint64_t stack) noexcept {
    const KeepErrno keep;
    const observe::Function* const function = observe::known_function(call.function);
    if (record::seat.writer == nullptr || function == nullptr || !is_captured(call))
        return nullptr;
    return record::seat.writer->recall(captured_key(call, *function, stack),
                                       observe::allocations().generation());
}

void begin_launch(NewLaunch& made, std::uint64_t stack, const LaunchCall& call) noexcept {
    const KeepErrno keep;
    // The generation is read first, so that a change during the scan makes the memo's entry void.
    made.generation = observe::allocations().generation();
    const bool captured = is_captured(call);
    const observe::Function* const function = observe::function_of(call.function);
    observe::Touched& touched = made.touched;
    const bool brief = observe::launches_are_brief();
    made.stream = reinterpret_cast<CUstream>(call.stream_name);
    made.stack = stack;
    made.shape.captured = captured;
    if (captured) { // it does not run
        describe_shape(made.shape, call, function, stack, touched);
        made.memorable = function != nullptr;
        if (made.memorable)
            made.key = captured_key(call, *function, stack);
        made.period = std::numeric_limits<std::uint32_t>::max(); // the device timer is not asked
        return;
    }
    if (function != nullptr && !brief)
        observe::scan(*function, call.parameters, call.extra, touched);
    describe_shape(made.shape, call, function, stack, touched);
    // Launches that the sampler or the actions have to see are not entered in the memo.
    made.memorable = (touched.scanned || brief) && touched.managed_count == 0 && !touched.holds_pointers &&
                     function != nullptr && describe(call, *function, brief, stack, nullptr, made.key);
    observe::managed_watch().look();
    observe::residency_sampler().before_launch(touched);
    act::notify<&act::Action::before_launch>(made);
    made.sample = observe::device_timer().begin(
        made.stream, timer_key(call, function != nullptr ? function->id : 0), made.period);
    made.launch.sample = made.sample.number;
}

void finish_launch(NewLaunch& made) noexcept {
    const KeepErrno keep;
    made.launched = made.launch.status == CUDA_SUCCESS;
    act::notify<&act::Action::after_launch>(made);
    observe::device_timer().end(made.sample, made.stream);
    if (made.memorable)
        record::write(made.shape, made.launch, made.key, made.generation, made.period);
    else
        record::write(made.shape, made.launch);
}

void begin_timing(TimedLaunch& timed, const LaunchCall& call) noexcept {
    record::LaunchMemo::Entry& entry = timed.entry;
    const std::uint32_t passed =
        entry.left == 0 ? entry.interval : 1; // else it is measured because of long_pause
    timed.launch.shape = trace::BriefLaunch::shape(entry.head);
    timed.launch.stands_for = passed - 1;
    entry.unasked += passed;
    if (entry.unasked < entry.period)
        return;
    const observe::Function* const function = observe::known_function(call.function);
    timed.sample =
        observe::device_timer().begin(reinterpret_cast<CUstream>(call.stream_name),
                                      timer_key(call, function != nullptr ? function->id : 0), entry.unasked);
    timed.launch.sample = timed.sample.number;
    entry.period = entry.unasked;
    entry.unasked = 0;
}

void finish_timing(TimedLaunch& timed, const LaunchCall& call) noexcept {
    observe::device_timer().end(timed.sample, reinterpret_cast<CUstream>(call.stream_name));
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
