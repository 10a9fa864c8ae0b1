#include "interposer/wrappers/launch.hpp"

#include "interposer/act/executor.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/device_timer.hpp"
#include "interposer/observe/functions.hpp"
#include "interposer/observe/residency_sampler.hpp"

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
}

std::uint64_t timer_key(const LaunchCall& call, std::uint64_t function) {
    return function << 24 ^ std::uint64_t{call.grid_x} << 12 ^ std::uint64_t{call.grid_y} << 6 ^ call.grid_z ^
           std::uint64_t{call.block_x} << 40;
}

} // namespace

void begin_launch(NewLaunch& made, KnownLaunch& known, const LaunchCall& call) noexcept {
    const bool captured = observe::is_captured(reinterpret_cast<CUstream>(call.stream_name));
    if (known.function == nullptr) {
        known.function = observe::function_of(call.function);
        if (known.function != nullptr && !captured)
            known.described = describe(call, *known.function, known.stack, known.key);
    }
    const observe::Function* const function = known.function;
    observe::Touched touched;
    if (function != nullptr)
        observe::scan(*function, call.parameters, call.extra, touched);
    describe_shape(made.shape, call, function, known.stack, touched);
    made.shape.captured = captured;
    // The sampler and the actions look at every launch that they may have to do with.
    made.memorable = known.described && touched.scanned && touched.managed_count == 0;
    observe::residency_sampler().before_launch(touched);
    act::before_launch(call.stream, call.entry, touched);
    made.launch.sample =
        observe::device_timer().begin(reinterpret_cast<CUstream>(call.stream_name),
                                      timer_key(call, function != nullptr ? function->id : 0), made.period);
}

void finish_launch(NewLaunch& made, const KnownLaunch& known, const LaunchCall& call) noexcept {
    if (made.launch.sample != 0)
        observe::device_timer().end(made.launch.sample, reinterpret_cast<CUstream>(call.stream_name));
    if (made.memorable)
        record::write(made.shape, made.launch, known.key, made.period);
    else
        record::write(made.shape, made.launch);
}

std::uint64_t begin_timing(LaunchCall call, const observe::Function& function,
                           record::LaunchMemo::Entry& entry) noexcept {
    std::uint32_t calls = entry.period;
    const std::uint64_t sample = observe::device_timer().begin(reinterpret_cast<CUstream>(call.stream_name),
                                                               timer_key(call, function.id), calls);
    entry.period = entry.left = calls;
    return sample;
}

void finish_rare(trace::Launch launch, CUresult result, std::uint64_t sample,
                 std::uint64_t stream_name) noexcept {
    if (sample != 0)
        observe::device_timer().end(sample, reinterpret_cast<CUstream>(stream_name));
    launch.status = static_cast<std::uint64_t>(result);
    launch.sample = sample;
    record::write(launch);
}

} // namespace umadvisor::wrappers
