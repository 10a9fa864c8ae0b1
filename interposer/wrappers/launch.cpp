#include "interposer/wrappers/launch.hpp"

#include "interposer/act/executor.hpp"
#include "interposer/observe/device_timer.hpp"
#include "interposer/observe/functions.hpp"
#include "interposer/observe/residency_sampler.hpp"

namespace umadvisor::wrappers {

void begin_launch(LaunchInFlight& flight, Entry entry, CUfunction function, CUstream stream,
                  std::uint64_t stream_name, void** parameters, void** extra) noexcept {
    const KeepErrno keep;
    trace::LaunchShape& shape = flight.shape;
    shape.entry = attach::index(entry);
    shape.stream = stream_name;
    observe::Touched touched;
    if (const observe::Function* const known = observe::function_of(function)) {
        shape.function = known->id;
        observe::scan(*known, parameters, extra, touched);
    }
    shape.touched = touched.ids;
    shape.untold = touched.untold;
    shape.scanned = touched.scanned;
    shape.stack = record::stack();
    observe::residency_sampler().before_launch(touched);
    act::before_launch(stream, entry, touched);
    const std::uint64_t key =
        shape.function << 24 ^ shape.grid_x << 12 ^ shape.grid_y << 6 ^ shape.grid_z ^ shape.block_x << 40;
    flight.launch.sample = observe::device_timer().begin(reinterpret_cast<CUstream>(stream_name), key);
}

void finish_launch(LaunchInFlight& flight) noexcept {
    const KeepErrno keep;
    if (flight.launch.sample != 0)
        observe::device_timer().end(flight.launch.sample, reinterpret_cast<CUstream>(flight.shape.stream));
    record::write(flight.shape, flight.launch);
}

} // namespace umadvisor::wrappers
