#pragma once
// Copies, frees and faults that take less, or nothing, or happen beside something else.
#include "work.hpp"

#include <memory>

namespace replays {

/// Host memory that is page-locked where the program is mended.
class HostWords {
public:
    explicit HostWords(std::size_t bytes) : count(bytes / sizeof(unsigned)), memory_(new unsigned[count]) {
        fill_on_host(words(), count, 77);
    }
    ~HostWords() {
        if (locked_)
            CHECK(cudaHostUnregister(words()));
    }
    HostWords(const HostWords&) = delete;
    HostWords& operator=(const HostWords&) = delete;

    void lock() {
        CHECK(cudaHostRegister(words(), count * sizeof(unsigned), cudaHostRegisterDefault));
        locked_ = true;
    }
    unsigned* words() const { return memory_.get(); }

    std::size_t count;

private:
    std::unique_ptr<unsigned[]> memory_;
    bool locked_ = false;
};

/// Makes the bytes others than those of the round before, in little time: how fast the host fills memory
/// differs by more from run to run than what is to be measured.
inline void change_on_host(const HostWords& host, unsigned round) {
    constexpr std::size_t page = 4096 / sizeof(unsigned);
    for (std::size_t at = 0; at < host.count; at += page)
        host.words()[at] = static_cast<unsigned>(at) ^ round;
}

/// 5: page-locked memory instead of pageable, both ways, the device idle or busy at the call.
template <bool mended>
void pageable(Trial& trial) {
    HostWords in(trial.bytes), out(trial.bytes);
    const DeviceWords data(trial.bytes);
    trial.timed([&] {
        if (mended) {
            in.lock();
            out.lock();
        }
        for (unsigned round = 0; round < trial.rounds; ++round) {
            change_on_host(in, round);
            CHECK(cudaMemcpy(data.words, in.words(), trial.bytes, cudaMemcpyHostToDevice));
            LAUNCH(rules::add_one, rules::grid, rules::block, nullptr, data.words, data.count);
            if (round % 2 == 0)
                spin_for(500, data.words);
            CHECK(cudaMemcpy(out.words(), data.words, trial.bytes, cudaMemcpyDeviceToHost));
        }
    });
}

/// 6: a thousand small copies are one.
template <bool mended>
void small_copies(Trial& trial) {
    constexpr std::size_t pieces = 1000, piece = 256;
    const PinnedWords host(pieces * piece);
    const DeviceWords data(pieces * piece);
    trial.timed_rounds([&](unsigned round) {
        fill_on_host(host.words, host.count, round);
        const std::size_t bytes = mended ? pieces * piece : piece;
        for (std::size_t at = 0; at < pieces * piece; at += bytes)
            CHECK(cudaMemcpyAsync(data.words + at / sizeof(unsigned), host.words + at / sizeof(unsigned), bytes,
                                  cudaMemcpyHostToDevice, nullptr));
        LAUNCH(rules::add_one, rules::grid, rules::block, nullptr, data.words, data.count);
        spin_for(2000, data.words);
        CHECK(cudaDeviceSynchronize());
    });
}

/// 13: page-locked memory instead of pageable, before a graph whose branches take 800 and 500 microseconds.
template <bool mended>
void before_a_graph(Trial& trial) {
    HostWords in(trial.bytes);
    const DeviceWords data(trial.bytes);
    const Target beside;
    const Streams streams(2, cudaStreamNonBlocking);
    cudaEvent_t fork, join;
    for (cudaEvent_t* const each : {&fork, &join})
        CHECK(cudaEventCreateWithFlags(each, cudaEventDisableTiming));
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(fork, streams[0]));
    CHECK(cudaStreamWaitEvent(streams[1], fork, 0));
    spin_for(500, beside.words, streams[1]);
    CHECK(cudaEventRecord(join, streams[1]));
    spin_for(400, data.words, streams[0]);
    CHECK(cudaLaunchHostFunc(
        streams[0], [](void*) {}, nullptr));
    spin_for(400, data.words, streams[0]);
    CHECK(cudaStreamWaitEvent(streams[0], join, 0));
    CHECK(cudaStreamEndCapture(streams[0], &graph));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    trial.timed([&] {
        if (mended)
            in.lock();
        for (unsigned round = 0; round < trial.rounds; ++round) {
            change_on_host(in, round);
            const cudaStream_t stream = streams[round % 2]; // its launches keep their order all the same
            CHECK(cudaMemcpyAsync(data.words, in.words(), trial.bytes, cudaMemcpyHostToDevice, stream));
            CHECK(cudaGraphLaunch(exec, stream));
            CHECK(cudaStreamSynchronize(stream));
        }
    });
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    for (const cudaEvent_t each : {fork, join})
        CHECK(cudaEventDestroy(each));
}

/// 15: page-locked memory instead of pageable, for copies that are done long before a kernel beside them.
template <bool mended>
void beside_a_kernel(Trial& trial) {
    HostWords in(MiB);
    const DeviceWords data(MiB);
    const PinnedWords result(KiB);
    const Target target;
    if (mended)
        in.lock();
    const Streams streams(2, cudaStreamNonBlocking);
    cudaEvent_t copied;
    CHECK(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
    trial.timed_rounds([&](unsigned round) {
        spin_for(4000, target.words, streams[0]);
        fill_on_host(in.words(), in.count, round);
        CHECK(cudaMemcpyAsync(data.words, in.words(), MiB, cudaMemcpyHostToDevice, streams[1]));
        CHECK(cudaEventRecord(copied, streams[1]));
        CHECK(cudaStreamWaitEvent(streams[0], copied, 0));
        LAUNCH(rules::add_one, rules::grid, rules::block, streams[0], data.words, data.count);
        CHECK(cudaMemcpyAsync(result.words, target.words, KiB, cudaMemcpyDeviceToHost, streams[0]));
        CHECK(cudaStreamSynchronize(streams[0]));
    });
    CHECK(cudaEventDestroy(copied));
}

} // namespace replays
