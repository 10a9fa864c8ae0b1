/// Kernel launches.
#pragma once

#include "interposer/observe/touched.hpp"
#include "interposer/wrappers/hook.hpp"

namespace umadvisor::wrappers {

/// A launch while it is being made.
struct LaunchInFlight {
    trace::LaunchShape shape;
    trace::Launch launch;
};

/// Finds out what the launch reaches, lets the observers and actions look at it, starts the device timer.
void begin_launch(LaunchInFlight& flight, Entry entry, CUfunction function, CUstream stream,
                  std::uint64_t stream_name, void** parameters, void** extra) noexcept;
void finish_launch(LaunchInFlight& flight) noexcept;

template <Entry E, class... Arguments>
CUresult launch_recorded(LaunchInFlight& flight, CUfunction function, CUstream stream, void** parameters,
                         void** extra, Arguments... arguments) noexcept {
    begin_launch(flight, E, function, stream, stream_of<E>(stream), parameters, extra);
    flight.launch.start = record::now();
    const CUresult result = attach::real<E>()(arguments...);
    flight.launch.duration = record::now() - flight.launch.start;
    flight.launch.status = static_cast<std::uint64_t>(result);
    finish_launch(flight);
    return result;
}

inline void describe(trace::LaunchShape& shape, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                     unsigned bz, unsigned shared) noexcept {
    shape.grid_x = gx;
    shape.grid_y = gy;
    shape.grid_z = gz;
    shape.block_x = bx;
    shape.block_y = by;
    shape.block_z = bz;
    shape.shared_bytes = shared;
}

struct launch : WhileRecording {
    template <Entry E>
    static CUresult call(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                         unsigned bz, unsigned shared, CUstream stream, void** parameters,
                         void** extra) noexcept {
        LaunchInFlight flight;
        describe(flight.shape, gx, gy, gz, bx, by, bz, shared);
        return launch_recorded<E>(flight, function, stream, parameters, extra, function, gx, gy, gz, bx, by, bz,
                                  shared, stream, parameters, extra);
    }
};

struct launch_cooperative : WhileRecording {
    template <Entry E>
    static CUresult call(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                         unsigned bz, unsigned shared, CUstream stream, void** parameters) noexcept {
        LaunchInFlight flight;
        describe(flight.shape, gx, gy, gz, bx, by, bz, shared);
        return launch_recorded<E>(flight, function, stream, parameters, nullptr, function, gx, gy, gz, bx, by,
                                  bz, shared, stream, parameters);
    }
};

struct launch_ex : WhileRecording {
    template <Entry E>
    static CUresult call(const CUlaunchConfig* config, CUfunction function, void** parameters,
                         void** extra) noexcept {
        if (config == nullptr)
            return attach::real<E>()(config, function, parameters, extra);
        LaunchInFlight flight;
        describe(flight.shape, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
                 config->blockDimY, config->blockDimZ, config->sharedMemBytes);
        return launch_recorded<E>(flight, function, config->hStream, parameters, extra, config, function,
                                  parameters, extra);
    }
};

} // namespace umadvisor::wrappers
