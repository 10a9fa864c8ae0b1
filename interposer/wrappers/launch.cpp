#include "interposer/wrappers/launch.hpp"

#include "interposer/act/executor.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/device_timer.hpp"
#include "interposer/observe/functions.hpp"
#include "interposer/observe/residency_sampler.hpp"

namespace umadvisor::wrappers {

namespace {

/// Everything the shape follows from. False: this launch is not remembered.
bool describe(const LaunchCall& call, const observe::Function& function, std::uint64_t stack,
              record::LaunchKey& key) {
    key.add(attach::index(call.entry) | std::uint64_t{call.shared_bytes} << 32);
    key.add(call.grid_x | std::uint64_t{call.grid_y} << 32);
    key.add(call.grid_z | std::uint64_t{call.block_x} << 32);
    key.add(call.block_y | std::uint64_t{call.block_z} << 32);
    key.add(call.stream_name);
    key.add(stack);
    return observe::add_to_key(function, call.parameters, key);
}

trace::LaunchShape shape_of(const LaunchCall& call, const observe::Function* function, std::uint64_t stack,
                            const observe::Touched& touched) {
    trace::LaunchShape shape;
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
    return shape;
}

std::uint64_t timer_key(const LaunchCall& call, std::uint64_t function) {
    return function << 24 ^ std::uint64_t{call.grid_x} << 12 ^ std::uint64_t{call.grid_y} << 6 ^ call.grid_z ^
           std::uint64_t{call.block_x} << 40;
}

} // namespace

void begin_launch(LaunchInFlight& flight, const LaunchCall& call) noexcept {
    const observe::Function* const function = observe::function_of(call.function);
    const std::uint64_t stack = record::stack();
    const bool captured = observe::is_captured(reinterpret_cast<CUstream>(call.stream_name));
    const bool described = !captured && function != nullptr && describe(call, *function, stack, flight.key);
    if (described)
        flight.launch.shape = record::recall(flight.key);
    if (flight.launch.shape == 0) {
        observe::Touched touched;
        if (function != nullptr)
            observe::scan(*function, call.parameters, call.extra, touched);
        flight.shape = shape_of(call, function, stack, touched);
        flight.shape->captured = captured;
        // The sampler and the actions look at every launch that they may have to do with.
        flight.memorable = described && touched.scanned && touched.managed_count == 0;
        observe::residency_sampler().before_launch(touched);
        act::before_launch(call.stream, call.entry, touched);
    }
    flight.launch.sample = observe::device_timer().begin(
        reinterpret_cast<CUstream>(call.stream_name), timer_key(call, function != nullptr ? function->id : 0));
}

void finish_launch(LaunchInFlight& flight, const LaunchCall& call) noexcept {
    if (flight.launch.sample != 0)
        observe::device_timer().end(flight.launch.sample, reinterpret_cast<CUstream>(call.stream_name));
    if (!flight.shape)
        record::write(flight.launch);
    else if (flight.memorable)
        record::write(*flight.shape, flight.launch, flight.key);
    else
        record::write(*flight.shape, flight.launch);
}

} // namespace umadvisor::wrappers
