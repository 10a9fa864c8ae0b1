#pragma once
// Waits that are left out.
#include "work.hpp"

#include <cuda_profiler_api.h>

#include <thread>

namespace replays {

/// 1: the host works for less time than the kernel takes, as long, and longer.
template <bool mended>
void turns(Trial& trial) {
    const Target target;
    trial.timed_rounds([&](unsigned round) {
        spin_for(1000, target.words);
        if (!mended)
            CHECK(cudaDeviceSynchronize());
        work_on_host(round % 3 == 0 ? 400 : round % 3 == 1 ? 1000 : 2000);
    });
}

/// 2: of two waits for the same kernel one is left out.
template <bool mended>
void two_waits(Trial& trial) {
    const Target target;
    trial.timed_rounds([&](unsigned) {
        spin_for(1000, target.words);
        if (!mended)
            CHECK(cudaStreamSynchronize(nullptr));
        CHECK(cudaDeviceSynchronize());
        work_on_host(700);
    });
}

/// 3: the device has been idle for long when the host waits.
template <bool mended>
void waits_when_idle(Trial& trial) {
    const Target target;
    trial.timed_rounds([&](unsigned) {
        spin_for(50, target.words);
        work_on_host(2000);
        if (!mended)
            CHECK(cudaDeviceSynchronize());
    });
}

/// 4: without the wait the host gets no further ahead than the queue is long: ten milliseconds, not twenty.
template <bool mended>
void long_queue(Trial& trial) {
    const Target target;
    trial.timed_rounds([&](unsigned) {
        for (unsigned i = 0; i < 2000; ++i)
            spin_for(10, target.words);
        if (!mended)
            CHECK(cudaDeviceSynchronize());
        work_on_host(20'000);
    });
}

/// 9: one event again and again, the host waits for the last time it was recorded.
template <bool mended>
void reused_event(Trial& trial) {
    const Target target;
    cudaEvent_t event;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    trial.timed_rounds([&](unsigned) {
        for (unsigned i = 0; i < 3; ++i) {
            spin_for(300, target.words);
            CHECK(cudaEventRecord(event, nullptr));
        }
        if (!mended)
            CHECK(cudaEventSynchronize(event));
        work_on_host(600);
    });
    CHECK(cudaEventDestroy(event));
}

/// 11: one of two threads waits for nothing, the other takes longer in any case.
template <bool mended>
void two_threads(Trial& trial) {
    const Target first, second;
    const Streams streams(2, cudaStreamNonBlocking);
    trial.timed([&] {
        std::thread beside([&] {
            for (unsigned round = 0; round < trial.rounds; ++round) {
                spin_for(300, first.words, streams[0]);
                if (!mended)
                    CHECK(cudaStreamSynchronize(streams[0]));
                work_on_host(300);
            }
        });
        for (unsigned round = 0; round < trial.rounds; ++round) {
            spin_for(2000, second.words, streams[1]);
            CHECK(cudaStreamSynchronize(streams[1]));
            work_on_host(100);
        }
        beside.join();
    });
}

/// 14: the host works on what the kernel made, and the next kernel on what the host made of it. The wait is
/// asked for apart from the copy: it can go no further.
template <bool mended>
void host_in_the_loop(Trial& trial) {
    constexpr std::size_t bytes = 256 * KiB;
    const PinnedWords host(bytes);
    const DeviceWords data(bytes);
    for (std::size_t i = 0; i < host.count; ++i)
        host.words[i] = static_cast<unsigned>(i);
    trial.timed_rounds([&](unsigned) {
        CHECK(cudaMemcpyAsync(data.words, host.words, bytes, cudaMemcpyHostToDevice, nullptr));
        LAUNCH(rules::add_one, 1, rules::block, nullptr, data.words, data.count);
        spin_for(700, data.words);
        if (mended) {
            CHECK(cudaMemcpyAsync(host.words, data.words, bytes, cudaMemcpyDeviceToHost, nullptr));
            CHECK(cudaStreamSynchronize(nullptr));
        } else {
            CHECK(cudaMemcpy(host.words, data.words, bytes, cudaMemcpyDeviceToHost));
        }
        for (std::size_t i = 0; i < host.count; ++i)
            host.words[i] *= 3;
        work_on_host(700);
    });
}

/// 16: the recording lacks the kernels that the host waits for. The waits are needed as far as it shows.
template <bool mended>
void unrecorded(Trial& trial) {
    const Target target;
    trial.timed_rounds([&](unsigned) {
        CHECK(cudaProfilerStop());
        spin_for(300, target.words);
        CHECK(cudaProfilerStart());
        if (!mended)
            CHECK(cudaDeviceSynchronize());
        work_on_host(300);
    });
}

} // namespace replays
