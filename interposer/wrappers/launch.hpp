/// Kernel launches.
#pragma once

#include "interposer/act/action.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/device_timer.hpp"
#include "interposer/observe/launch_detail.hpp"
#include "interposer/observe/touched.hpp"
#include "interposer/record/thread_writer.hpp"
#include "interposer/wrappers/hook.hpp"

namespace umadvisor::wrappers {

/// The arguments of the program's call.
struct LaunchCall {
    Entry entry;
    CUfunction function;
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    CUstream stream;
    trace::StreamId stream_name; ///< as traces name it
    void** parameters;
    void** extra;
};

/// A launch that the memo does not have, from before the driver's call to after it.
struct NewLaunch : act::LaunchScope {
    trace::Launch launch;
    trace::LaunchShape shape;
    observe::DeviceSample sample;
    record::LaunchKey key;
    std::uint64_t generation = 0; ///< of the index of allocations, before the scan
    bool memorable = false;       ///< whether the memo may have it by its key
    std::uint32_t period = 1;     ///< the device timer's answer
};

/// The memo's entry of a launch that becomes a node of a graph: it reaches nothing, so the call and the stack
/// identify it. Null: it has none, or the launch runs.
record::LaunchMemo::Entry* recall_captured(const LaunchCall& call, std::uint64_t stack) noexcept;

/// Fills in the shape: scans what the launch reaches, passes it to the observers and actions, starts the device
/// timer.
void begin_launch(NewLaunch& made, std::uint64_t stack, const LaunchCall& call) noexcept;
void finish_launch(NewLaunch& made) noexcept;

/// A launch that the memo has, and that is measured.
struct TimedLaunch {
    trace::Launch launch;
    record::ThreadWriter& writer;
    record::LaunchMemo::Entry& entry;
    observe::DeviceSample sample;
};
void begin_timing(TimedLaunch& timed, const LaunchCall& call) noexcept;
void finish_timing(TimedLaunch& timed, const LaunchCall& call) noexcept;

/// Records a launch that the memo has and that failed.
void write_failed(std::uint32_t head, std::uint64_t start, CUresult result) noexcept;

/// Adds to `key` what determines a shape: the call, the stack, what the parameters reach; for a brief launch
/// the call alone.
[[gnu::always_inline]] inline bool describe(const LaunchCall& call, const observe::Function& function,
                                            bool brief, std::uint64_t stack, record::PieceMemo* memo,
                                            record::LaunchKey& key) noexcept {
    key.add(attach::index(call.entry) | std::uint64_t{call.shared_bytes} << 32);
    key.add(call.grid_x | std::uint64_t{call.grid_y} << 32);
    key.add(call.grid_z | std::uint64_t{call.block_x} << 32);
    key.add(call.block_y | std::uint64_t{call.block_z} << 32);
    key.add(number(call.stream_name));
    if (brief) {
        key.add(number(&function));
        return true;
    }
    key.add(stack);
    return observe::add_to_key(function, call.parameters, memo, key);
}

/// Ticks since the thread's last record after which a launch is measured: 20 to 70 us, of which another reading
/// of the clock is a thousandth. Launches that block follow each other at such intervals, so hardly one is
/// missed.
inline constexpr std::uint64_t long_pause = 1u << 16;
static_assert(long_pause <= trace::BriefLaunch::span);

template <Entry E, class Policy, class... Arguments>
[[gnu::noinline]] CUresult launch_timed(record::ThreadWriter& writer, record::LaunchMemo::Entry& entry,
                                        Arguments... arguments) noexcept {
    const LaunchCall call = Policy::template asked<E>(arguments...);
    TimedLaunch timed{{}, writer, entry, {}};
    begin_timing(timed, call);
    timed.launch.start = record::now();
    const CUresult result = attach::real<E>()(arguments...);
    timed.launch.duration = record::ticks_since(timed.launch.start);
    timed.launch.status = static_cast<std::uint64_t>(result);
    finish_timing(timed, call);
    return result;
}

template <Entry E, class Policy, class... Arguments>
[[gnu::noinline, gnu::cold]] CUresult launch_anew(std::uint64_t stack, Arguments... arguments) noexcept {
    const LaunchCall call = Policy::template asked<E>(arguments...);
    if (record::LaunchMemo::Entry* const entry = recall_captured(call, stack))
        return launch_timed<E, Policy>(*record::seat.writer, *entry, arguments...);
    const record::OffStack<NewLaunch> made;
    begin_launch(*made, stack, call);
    made->launch.start = record::now();
    const CUresult result = attach::real<E>()(arguments...);
    made->launch.duration = record::ticks_since(made->launch.start);
    made->launch.status = static_cast<std::uint64_t>(result);
    finish_launch(*made);
    return result;
}

/// The fast path of a launch that the memo has. The driver has evicted our code and data from the caches
/// meanwhile, so every line and every branch counts. Slow paths get the arguments by value again, since a
/// variable whose address is taken would be kept in memory.
template <Entry E, class Policy, class... Arguments>
[[gnu::always_inline]] inline CUresult launch_recorded(Arguments... arguments) noexcept {
    const LaunchCall call = Policy::template asked<E>(arguments...);
    record::ThreadWriter* const writer = record::seat.writer;
    const bool brief = observe::launches_are_brief();
    const std::uint64_t stack = record::records_stacks() && !brief ? record::launch_stack() : 0;
    const observe::Function* const function = observe::known_function(call.function);
    record::LaunchKey key;
    if (writer == nullptr || function == nullptr || !observe::nothing_is_captured() ||
        !describe(call, *function, brief, stack, &writer->pieces, key)) [[unlikely]]
        return launch_anew<E, Policy>(stack, arguments...);
    record::LaunchMemo::Entry* const entry = writer->recall(key, observe::allocations().generation());
    if (entry == nullptr) [[unlikely]]
        return launch_anew<E, Policy>(stack, arguments...);
    const std::uint64_t start = record::now();
    if (start - writer->chunk.state.time >= long_pause || --entry->left == 0) [[unlikely]]
        return launch_timed<E, Policy>(*writer, *entry, arguments...);
    const std::uint32_t head = entry->head;
    const CUresult result = attach::real<E>()(arguments...);
    if (result != CUDA_SUCCESS) [[unlikely]] {
        write_failed(head, start, result);
    } else if (record::recording()) [[likely]] {
        writer->chunk.put_brief(head, start);
        writer->chunk.commit();
    }
    return result;
}

struct launch : WhileRecording {
    template <Entry E>
    [[gnu::always_inline]] static LaunchCall asked(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                                                   unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                                   CUstream stream, void** parameters, void** extra) noexcept {
        return {E, function, gx, gy, gz, bx, by, bz, shared, stream, stream_of<E>(stream), parameters, extra};
    }
    template <Entry E, class... Arguments>
    [[gnu::always_inline]] static CUresult call(Arguments... arguments) noexcept {
        return launch_recorded<E, launch>(arguments...);
    }
};

struct launch_cooperative : WhileRecording {
    template <Entry E>
    [[gnu::always_inline]] static LaunchCall asked(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                                                   unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                                   CUstream stream, void** parameters) noexcept {
        return {E, function, gx, gy, gz, bx, by, bz, shared, stream, stream_of<E>(stream), parameters, nullptr};
    }
    template <Entry E, class... Arguments>
    [[gnu::always_inline]] static CUresult call(Arguments... arguments) noexcept {
        return launch_recorded<E, launch_cooperative>(arguments...);
    }
};

struct launch_ex : WhileRecording {
    template <Entry E>
    [[gnu::always_inline]] static LaunchCall asked(const CUlaunchConfig* config, CUfunction function,
                                                   void** parameters, void** extra) noexcept {
        return {E,
                function,
                config->gridDimX,
                config->gridDimY,
                config->gridDimZ,
                config->blockDimX,
                config->blockDimY,
                config->blockDimZ,
                config->sharedMemBytes,
                config->hStream,
                stream_of<E>(config->hStream),
                parameters,
                extra};
    }
    template <Entry E>
    [[gnu::always_inline]] static CUresult call(const CUlaunchConfig* config, CUfunction function,
                                                void** parameters, void** extra) noexcept {
        if (config == nullptr)
            return attach::real<E>()(config, function, parameters, extra);
        return launch_recorded<E, launch_ex>(config, function, parameters, extra);
    }
};

} // namespace umadvisor::wrappers
