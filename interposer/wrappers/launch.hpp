/// Kernel launches.
#pragma once

#include "interposer/observe/touched.hpp"
#include "interposer/wrappers/hook.hpp"

#include <optional>

namespace umadvisor::wrappers {

/// What the program asked for.
struct LaunchCall {
    Entry entry;
    CUfunction function;
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    CUstream stream;
    std::uint64_t stream_name; ///< as traces name it
    void** parameters;
    void** extra;
};

/// A launch while it is being made.
struct LaunchInFlight {
    trace::Launch launch;
    std::optional<trace::LaunchShape> shape; ///< empty: launch.shape was recalled
    record::LaunchKey key;
    bool memorable = false; ///< `key` stands for `shape`
};

/// Finds out what the launch reaches, lets the observers and actions look at it, starts the device timer. Errno
/// needs no keeping: whatever calls the system keeps it itself.
void begin_launch(LaunchInFlight& flight, const LaunchCall& call) noexcept;
void finish_launch(LaunchInFlight& flight, const LaunchCall& call) noexcept;

template <Entry E, class... Arguments>
CUresult launch_recorded(const LaunchCall& call, Arguments... arguments) noexcept {
    LaunchInFlight flight;
    begin_launch(flight, call);
    flight.launch.start = record::now();
    const CUresult result = attach::real<E>()(arguments...);
    flight.launch.duration = record::now() - flight.launch.start;
    flight.launch.status = static_cast<std::uint64_t>(result);
    finish_launch(flight, call);
    return result;
}

struct launch : WhileRecording {
    template <Entry E>
    static CUresult call(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                         unsigned bz, unsigned shared, CUstream stream, void** parameters,
                         void** extra) noexcept {
        return launch_recorded<E>(LaunchCall{E, function, gx, gy, gz, bx, by, bz, shared, stream,
                                             stream_of<E>(stream), parameters, extra},
                                  function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
    }
};

struct launch_cooperative : WhileRecording {
    template <Entry E>
    static CUresult call(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                         unsigned bz, unsigned shared, CUstream stream, void** parameters) noexcept {
        return launch_recorded<E>(LaunchCall{E, function, gx, gy, gz, bx, by, bz, shared, stream,
                                             stream_of<E>(stream), parameters, nullptr},
                                  function, gx, gy, gz, bx, by, bz, shared, stream, parameters);
    }
};

struct launch_ex : WhileRecording {
    template <Entry E>
    static CUresult call(const CUlaunchConfig* config, CUfunction function, void** parameters,
                         void** extra) noexcept {
        if (config == nullptr)
            return attach::real<E>()(config, function, parameters, extra);
        return launch_recorded<E>(LaunchCall{E, function, config->gridDimX, config->gridDimY, config->gridDimZ,
                                             config->blockDimX, config->blockDimY, config->blockDimZ,
                                             config->sharedMemBytes, config->hStream,
                                             stream_of<E>(config->hStream), parameters, extra},
                                  config, function, parameters, extra);
    }
};

} // namespace umadvisor::wrappers
