#pragma once
// UMA-109 to 112: what could run side by side, or need not cross the link.
#include "trial.hpp"

#include <memory>

namespace rules {

inline constexpr unsigned scramble_steps = 50;

inline unsigned scrambled(unsigned value) {
    for (unsigned step = 0; step < scramble_steps; ++step)
        value = value * 1664525u + 1013904223u;
    return value;
}

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

inline void scramble_in_series(Trial& trial) {
    scramble_chunks(trial, 1);
}
inline void scramble_in_streams(Trial& trial) {
    scramble_chunks(trial, 4);
}

/// The copy in takes all the time there is: a short kernel and a few bytes out have nothing to run beside.
inline void upload_for_a_sum(Trial& trial) {
    const PinnedWords host(trial.bytes), sums(KiB);
    const DeviceWords data(trial.bytes);
    for (std::size_t i = 0; i < host.count; ++i)
        host.words[i] = static_cast<unsigned>(i);
    const Streams streams(1);
    trial.timed_rounds([&](unsigned) {
        CHECK(cudaMemcpyAsync(data.words, host.words, trial.bytes, cudaMemcpyHostToDevice, streams[0]));
        LAUNCH(add_one, 1, block, streams[0], data.words, sums.count);
        CHECK(cudaMemcpyAsync(sums.words, data.words, KiB, cudaMemcpyDeviceToHost, streams[0]));
        CHECK(cudaStreamSynchronize(streams[0]));
    });
    for (std::size_t i = 0; i < sums.count; ++i)
        trial.expect(sums.words[i] == i + 1);
}

/// Small steps, each made by the host from the result of the last.
inline void steps_by_the_host(Trial& trial) {
    const PinnedWords host(trial.bytes);
    const DeviceWords data(trial.bytes);
    for (std::size_t i = 0; i < host.count; ++i)
        host.words[i] = 0;
    const Streams streams(1);
    trial.timed_rounds([&](unsigned) {
        CHECK(cudaMemcpyAsync(data.words, host.words, trial.bytes, cudaMemcpyHostToDevice, streams[0]));
        LAUNCH(add_one, grid, block, streams[0], data.words, data.count);
        CHECK(cudaMemcpyAsync(host.words, data.words, trial.bytes, cudaMemcpyDeviceToHost, streams[0]));
        CHECK(cudaStreamSynchronize(streams[0]));
        for (std::size_t i = 0; i < host.count; ++i)
            host.words[i] *= 3;
    });
    unsigned expected = 0;
    for (unsigned round = 0; round < trial.rounds; ++round)
        expected = (expected + 1) * 3;
    trial.expect(host.words[host.count - 1] == expected);
}

/// Copies in and out on streams of their own, and a kernel between them that has nothing to do with either.
inline void copy_beside_a_kernel(Trial& trial, unsigned flags) {
    const PinnedWords in(trial.bytes), out(trial.bytes);
    const DeviceWords next(trial.bytes), current(trial.bytes), last(trial.bytes);
    for (std::size_t i = 0; i < in.count; ++i)
        in.words[i] = static_cast<unsigned>(i);
    CHECK(cudaMemset(current.words, 0, trial.bytes));
    CHECK(cudaMemset(last.words, 7, trial.bytes));
    const Streams streams(2, flags);
    trial.timed_rounds([&](unsigned) {
        CHECK(cudaMemcpyAsync(next.words, in.words, trial.bytes, cudaMemcpyHostToDevice, streams[0]));
        LAUNCH(add_one, grid, block, nullptr, current.words, current.count);
        CHECK(cudaMemcpyAsync(out.words, last.words, trial.bytes, cudaMemcpyDeviceToHost, streams[1]));
        CHECK(cudaDeviceSynchronize());
    });
    CHECK(cudaMemcpy(in.words, current.words, trial.bytes, cudaMemcpyDeviceToHost));
    trial.expect(out.words[out.count - 1] == 0x07070707 && in.words[0] == trial.rounds);
}

inline void copy_on_blocking_streams(Trial& trial) {
    copy_beside_a_kernel(trial, cudaStreamDefault);
}
inline void copy_on_free_streams(Trial& trial) {
    copy_beside_a_kernel(trial, cudaStreamNonBlocking);
}
/// The kernel takes what one stream brings and makes what the other takes away: the default stream orders them.
inline void copy_around_a_kernel(Trial& trial) {
    const PinnedWords in(trial.bytes), out(trial.bytes);
    const DeviceWords data(trial.bytes);
    for (std::size_t i = 0; i < in.count; ++i)
        in.words[i] = static_cast<unsigned>(i);
    const Streams streams(2);
    trial.timed_rounds([&](unsigned) {
        CHECK(cudaMemcpyAsync(data.words, in.words, trial.bytes, cudaMemcpyHostToDevice, streams[0]));
        LAUNCH(add_one, grid, block, nullptr, data.words, data.count);
        CHECK(cudaMemcpyAsync(out.words, data.words, trial.bytes, cudaMemcpyDeviceToHost, streams[1]));
        CHECK(cudaDeviceSynchronize());
    });
    trial.expect(out.words[0] == 1 && out.words[out.count - 1] == out.count);
}

/// A result goes from one device buffer to another; `pass_on` moves it.
template <class PassOn>
void pass_result_on(Trial& trial, const PassOn& pass_on) {
    const DeviceWords made(trial.bytes), taken(trial.bytes), total(trial.bytes);
    CHECK(cudaMemset(total.words, 0, trial.bytes));
    for (unsigned round = 0; round < trial.rounds; ++round) {
        LAUNCH(fill, grid, block, nullptr, made.words, made.count, round + 1);
        trial.timed([&] { pass_on(taken.words, made.words); });
        LAUNCH(accumulate, grid, block, nullptr, total.words, taken.words, total.count);
    }
    const PinnedWords sums(trial.bytes);
    CHECK(cudaMemcpy(sums.words, total.words, trial.bytes, cudaMemcpyDeviceToHost));
    for (const std::size_t i : {std::size_t{0}, sums.count - 1})
        trial.expect(sums.words[i] == trial.rounds * (trial.rounds + 1) / 2);
}

inline void pass_through_host(Trial& trial) {
    const std::unique_ptr<char[]> host(new char[trial.bytes]);
    pass_result_on(trial, [&](unsigned* to, const unsigned* from) {
        CHECK(cudaMemcpy(host.get(), from, trial.bytes, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(to, host.get(), trial.bytes, cudaMemcpyHostToDevice));
    });
}
inline void pass_on_device(Trial& trial) {
    pass_result_on(trial, [&](unsigned* to, const unsigned* from) {
        CHECK(cudaMemcpy(to, from, trial.bytes, cudaMemcpyDeviceToDevice));
    });
}
/// The host takes every other word and sends those back twice.
inline void thin_on_host(Trial& trial) {
    const PinnedWords all(trial.bytes), thin(trial.bytes / 2);
    pass_result_on(trial, [&](unsigned* to, const unsigned* from) {
        CHECK(cudaMemcpy(all.words, from, trial.bytes, cudaMemcpyDeviceToHost));
        for (std::size_t i = 0; i < thin.count; ++i)
            thin.words[i] = all.words[2 * i];
        CHECK(cudaMemcpy(to, thin.words, trial.bytes / 2, cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(to + thin.count, thin.words, trial.bytes / 2, cudaMemcpyHostToDevice));
    });
}

/// Two kernels a round, and the host looks at what they count in every `interval`-th.
inline void count_rounds(Trial& trial, unsigned interval) {
    const DeviceWords data(trial.bytes);
    CHECK(cudaMemset(data.words, 0, trial.bytes));
    unsigned count = 0;
    trial.timed_rounds([&](unsigned round) {
        LAUNCH(add_one, 1, block, nullptr, data.words, data.count);
        LAUNCH(add_one, 1, block, nullptr, data.words, data.count);
        if (round % interval == interval - 1) {
            CHECK(cudaMemcpy(&count, data.words, sizeof count, cudaMemcpyDeviceToHost));
            trial.expect(count == 2 * (round + 1));
        }
    });
    trial.expect(count == 2 * trial.rounds);
}

inline void count_each_round(Trial& trial) {
    count_rounds(trial, 1);
}
inline void count_every_hundredth(Trial& trial) {
    count_rounds(trial, 100);
}
/// Each round's results come to the host anyway: the scalar is no further wait.
inline void count_with_results(Trial& trial) {
    const DeviceWords data(trial.bytes);
    const PinnedWords results(trial.bytes);
    CHECK(cudaMemset(data.words, 0, trial.bytes));
    unsigned count = 0;
    trial.timed_rounds([&](unsigned) {
        LAUNCH(add_one, 1, block, nullptr, data.words, data.count);
        CHECK(cudaMemcpy(results.words, data.words, trial.bytes, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(&count, data.words, sizeof count, cudaMemcpyDeviceToHost));
    });
    trial.expect(count == trial.rounds && results.words[results.count - 1] == count);
}

} // namespace rules
