#pragma once
// Streams and events, and work on them whose time no memory decides.
#include "trial.hpp"

namespace rules {

class Streams {
public:
    explicit Streams(std::size_t count, unsigned flags = cudaStreamDefault) : streams_(count) {
        for (cudaStream_t& stream : streams_)
            CHECK(cudaStreamCreateWithFlags(&stream, flags));
    }
    ~Streams() {
        for (cudaStream_t stream : streams_)
            CHECK(cudaStreamDestroy(stream));
    }
    Streams(const Streams&) = delete;
    Streams& operator=(const Streams&) = delete;
    cudaStream_t operator[](std::size_t index) const { return streams_[index]; }

private:
    std::vector<cudaStream_t> streams_;
};

class Event {
public:
    Event() { CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming)); }
    ~Event() { CHECK(cudaEventDestroy(event)); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

    cudaEvent_t event = nullptr;
};

/// In each round `device_us` of work on the device and `host_us` on the host; `wait` stands between them.
template <class Wait>
void take_turns(Trial& trial, unsigned device_us, unsigned host_us, const Wait& wait) {
    DeviceWords data(trial.bytes);
    CHECK(cudaMemset(data.words, 0, trial.bytes));
    trial.timed_rounds([&](unsigned) {
        work_on_device(data.words, device_us);
        wait(data.words);
        work_on_host(host_us);
    });
}

inline constexpr unsigned turn_us = 400;

inline constexpr unsigned flight_us = 400; ///< of work that a stream has before what the row is about

inline void fill_with(const PinnedWords& buffer, unsigned value) {
    for (std::size_t i = 0; i < buffer.count; ++i)
        buffer.words[i] = value;
    habits::pass_host_time(buffer.count * sizeof(unsigned));
}

inline constexpr unsigned scramble_steps = 50;

inline unsigned scrambled(unsigned value) {
    for (unsigned step = 0; step < scramble_steps; ++step)
        value = value * 1664525u + 1013904223u;
    return value;
}

/// In, kernel and out, in `chunks` parts with a stream each.
inline void scramble_chunks(Trial& trial, std::size_t chunks) {
    const PinnedWords host(trial.bytes), result(trial.bytes);
    const DeviceWords data(trial.bytes);
    const Streams streams(chunks);
    const std::size_t part = host.count / chunks;
    for (std::size_t i = 0; i < host.count; ++i)
        host.words[i] = static_cast<unsigned>(i);
    trial.timed_rounds([&](unsigned round) {
        // Each round has its own data, made in little time: how fast the host fills memory differs by more from
        // process to process than what is to be gained.
        for (std::size_t at = 0; at < host.count; at += 4 * KiB / sizeof(unsigned))
            host.words[at] = static_cast<unsigned>(at) + round;
        for (std::size_t i = 0; i < chunks; ++i) {
            unsigned* const words = data.words + i * part;
            CHECK(cudaMemcpyAsync(words, host.words + i * part, part * sizeof(unsigned), cudaMemcpyHostToDevice,
                                  streams[i]));
            LAUNCH(compute, grid, block, streams[i], words, part, scramble_steps);
            CHECK(cudaMemcpyAsync(result.words + i * part, words, part * sizeof(unsigned),
                                  cudaMemcpyDeviceToHost, streams[i]));
        }
        CHECK(cudaDeviceSynchronize());
    });
    for (std::size_t i = 0; i < host.count; i += 997)
        trial.expect(result.words[i] == scrambled(host.words[i]));
}

inline void scramble_in_streams(Trial& trial) {
    scramble_chunks(trial, 4);
}

} // namespace rules
