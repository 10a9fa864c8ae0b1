/// Kernel launches.
#pragma once

#include "interposer/observe/capture.hpp"
#include "interposer/observe/touched.hpp"
#include "interposer/record/thread_writer.hpp"
#include "interposer/wrappers/hook.hpp"

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

/// A launch by what is known of it before it is made.
struct KnownLaunch {
    std::uint64_t stack;
    const observe::Function* function;
    record::LaunchKey key;
    bool described; ///< `key` stands for everything the shape follows from
};

/// A launch that looks like none before, while it is being made.
struct NewLaunch {
    trace::Launch launch;
    trace::LaunchShape shape;
    bool memorable = false;   ///< by its key
    std::uint32_t period = 1; ///< the device timer's answer
};

/// Fills in the shape: finds out what the launch reaches, lets the observers and actions look at it, starts the
/// device timer. Errno needs no keeping: whatever calls the system keeps it itself.
void begin_launch(NewLaunch& made, KnownLaunch& known, const LaunchCall& call) noexcept;
void finish_launch(NewLaunch& made, const KnownLaunch& known, const LaunchCall& call) noexcept;

/// Asks the device timer for a launch that is recalled; `entry` has counted those in between.
std::uint64_t begin_timing(LaunchCall call, const observe::Function& function,
                           record::LaunchMemo::Entry& entry) noexcept;
/// Of a launch that is recalled and failed, or was timed.
void finish_rare(trace::Launch launch, CUresult result, std::uint64_t sample,
                 std::uint64_t stream_name) noexcept;

/// What a shape follows from: the call, the stack, what the parameters reach.
[[gnu::always_inline]] inline bool describe(const LaunchCall& call, const observe::Function& function,
                                            std::uint64_t stack, record::LaunchKey& key) noexcept {
    key.add(attach::index(call.entry) | std::uint64_t{call.shared_bytes} << 32);
    key.add(call.grid_x | std::uint64_t{call.grid_y} << 32);
    key.add(call.grid_z | std::uint64_t{call.block_x} << 32);
    key.add(call.block_y | std::uint64_t{call.block_z} << 32);
    key.add(call.stream_name);
    key.add(stack);
    return observe::add_to_key(function, call.parameters, key);
}

template <Entry E, class... Arguments>
[[gnu::noinline, gnu::cold]] CUresult launch_anew(KnownLaunch known, LaunchCall call,
                                                  Arguments... arguments) noexcept {
    NewLaunch made;
    begin_launch(made, known, call);
    made.launch.start = record::now();
    const CUresult result = attach::real<E>()(arguments...);
    made.launch.duration = record::now() - made.launch.start;
    made.launch.status = static_cast<std::uint64_t>(result);
    finish_launch(made, known, call);
    return result;
}

/// A launch that looks like an earlier one goes straight through here: the driver has pushed our code and data
/// out of the caches meanwhile, so every line of either and every branch counts. What stands aside takes its
/// arguments by value: what has an address is kept in memory.
template <Entry E, class... Arguments>
[[gnu::always_inline]] inline CUresult launch_recorded(const LaunchCall& call,
                                                       Arguments... arguments) noexcept {
    record::ThreadWriter* const writer = record::seat.writer;
    const observe::Function* const function = observe::known_function(call.function);
    const std::uint64_t stack = record::stack();
    record::LaunchKey key;
    const bool described =
        function != nullptr && observe::nothing_is_captured() && describe(call, *function, stack, key);
    record::LaunchMemo::Entry* const entry =
        described && writer != nullptr ? writer->recall(key.value()) : nullptr;
    if (entry == nullptr) [[unlikely]]
        return launch_anew<E>({stack, function, key, described}, call, arguments...);
    trace::Launch launch; // its rare fields stay zero: the compiler leaves them out of what it writes
    launch.shape = writer->shape_number(entry->serial);
    std::uint64_t sample = 0;
    if (--entry->left == 0) [[unlikely]]
        sample = begin_timing(call, *function, *entry);
    launch.start = record::now();
    const CUresult result = attach::real<E>()(arguments...);
    launch.duration = record::now() - launch.start;
    if (result != CUDA_SUCCESS || sample != 0) [[unlikely]] {
        finish_rare(launch, result, sample, call.stream_name);
    } else if (record::recording()) [[likely]] {
        writer->chunk.put_straight(launch);
        writer->chunk.commit();
    }
    return result;
}

struct launch : WhileRecording {
    template <Entry E>
    [[gnu::always_inline]] static CUresult call(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                                                unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                                CUstream stream, void** parameters, void** extra) noexcept {
        return launch_recorded<E>(LaunchCall{E, function, gx, gy, gz, bx, by, bz, shared, stream,
                                             stream_of<E>(stream), parameters, extra},
                                  function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
    }
};

struct launch_cooperative : WhileRecording {
    template <Entry E>
    [[gnu::always_inline]] static CUresult call(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                                                unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                                CUstream stream, void** parameters) noexcept {
        return launch_recorded<E>(LaunchCall{E, function, gx, gy, gz, bx, by, bz, shared, stream,
                                             stream_of<E>(stream), parameters, nullptr},
                                  function, gx, gy, gz, bx, by, bz, shared, stream, parameters);
    }
};

struct launch_ex : WhileRecording {
    template <Entry E>
    [[gnu::always_inline]] static CUresult call(const CUlaunchConfig* config, CUfunction function,
                                                void** parameters, void** extra) noexcept {
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
