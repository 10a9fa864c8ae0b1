#pragma once
// UMA-411, UMA-413, UMA-414 and UMA-507: what is made anew, given back or asked in each round.
#include "trial.hpp"

#include <cstdint>

namespace rules {

inline constexpr unsigned steps_of_graph = 20;

/// The graph of so many kernels, captured anew.
inline cudaGraph_t capture_steps(cudaStream_t stream, const DeviceWords& data, unsigned steps) {
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (unsigned step = 0; step < steps; ++step)
        LAUNCH(add_one, 1, block, stream, data.words, data.count);
    CHECK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

enum class Exec { made_anew, updated, of_other_shape };

template <Exec How>
void replay_steps(Trial& trial) {
    const DeviceWords data(trial.bytes);
    CHECK(cudaMemset(data.words, 0, trial.bytes));
    cudaStream_t stream = nullptr;
    CHECK(cudaStreamCreate(&stream));
    cudaGraphExec_t exec = nullptr;
    trial.timed_rounds([&](unsigned round) {
        const unsigned steps = steps_of_graph + (How == Exec::of_other_shape ? round : 0);
        cudaGraph_t graph = capture_steps(stream, data, steps);
        if (How != Exec::updated || exec == nullptr) {
            CHECK(cudaGraphInstantiate(&exec, graph, 0));
        } else {
            cudaGraphExecUpdateResultInfo told{};
            CHECK(cudaGraphExecUpdate(exec, graph, &told));
        }
        CHECK(cudaGraphDestroy(graph));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        if (How != Exec::updated)
            CHECK(cudaGraphExecDestroy(exec));
    });
    if (How == Exec::updated)
        CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaStreamDestroy(stream));
}

/// Each round has its kernels on a stream of its own, which is made for it or taken from eight.
inline void rounds_on_streams(Trial& trial, bool fresh) {
    constexpr unsigned kept = 8;
    const DeviceWords data(trial.bytes);
    CHECK(cudaMemset(data.words, 0, trial.bytes));
    cudaStream_t streams[kept] = {};
    if (!fresh)
        for (cudaStream_t& stream : streams)
            CHECK(cudaStreamCreate(&stream));
    trial.timed_rounds([&](unsigned round) {
        cudaStream_t& stream = streams[round % kept];
        if (fresh)
            CHECK(cudaStreamCreate(&stream));
        LAUNCH(add_one, 1, block, stream, data.words, data.count);
        if (fresh)
            CHECK(cudaStreamDestroy(stream));
    });
    if (!fresh)
        for (cudaStream_t stream : streams)
            CHECK(cudaStreamDestroy(stream));
}
inline void streams_made_anew(Trial& trial) {
    rounds_on_streams(trial, true);
}
inline void streams_from_a_set(Trial& trial) {
    rounds_on_streams(trial, false);
}

enum class Pooled { given_back, kept, no_wait };

template <Pooled How>
void scratch_of_rounds(Trial& trial) {
    cudaMemPool_t pool = nullptr;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    std::uint64_t threshold = How == Pooled::kept ? UINT64_MAX : 0;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    cudaStream_t stream = nullptr;
    CHECK(cudaStreamCreate(&stream));
    trial.timed_rounds([&](unsigned) {
        unsigned* scratch = nullptr;
        CHECK(cudaMallocAsync(&scratch, trial.bytes, stream));
        LAUNCH(fill, grid, block, stream, scratch, trial.bytes / sizeof(unsigned), 1u);
        CHECK(cudaFreeAsync(scratch, stream));
        if (How != Pooled::no_wait)
            CHECK(cudaStreamSynchronize(stream));
    });
    CHECK(cudaStreamDestroy(stream));
    threshold = 0;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
}

/// Asks before every `each`-th launch what is free.
inline void launch_and_ask(Trial& trial, unsigned each) {
    const DeviceWords data(trial.bytes);
    CHECK(cudaMemset(data.words, 0, trial.bytes));
    trial.timed_rounds([&](unsigned round) {
        std::size_t free_bytes = trial.bytes, total = 0;
        if (round % each == 0)
            CHECK(cudaMemGetInfo(&free_bytes, &total));
        trial.expect(free_bytes >= trial.bytes);
        LAUNCH(add_one, 1, block, nullptr, data.words, data.count);
    });
}
inline void ask_each_round(Trial& trial) {
    launch_and_ask(trial, 1);
}
inline void ask_once(Trial& trial) {
    launch_and_ask(trial, trial.rounds);
}
inline void ask_now_and_then(Trial& trial) {
    launch_and_ask(trial, 500);
}

} // namespace rules
