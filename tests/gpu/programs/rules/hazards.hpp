#pragma once
// UMA-602 to 604: work on the same bytes that nothing orders, and what orders it.
#include "overlap.hpp"
#include "trial.hpp"

#include <atomic>
#include <thread>

namespace rules {

inline constexpr unsigned flight_us = 400; ///< of work that a stream has before what the row is about

class Event {
public:
    Event() { CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming)); }
    ~Event() { CHECK(cudaEventDestroy(event)); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

    cudaEvent_t event = nullptr;
};

inline void fill_with(const PinnedWords& buffer, unsigned value) {
    for (std::size_t i = 0; i < buffer.count; ++i)
        buffer.words[i] = value;
    habits::pass_host_time(buffer.count * sizeof(unsigned));
}

/// Uploads of new bytes in each round, from `buffers` in turn, behind work of the same stream. `wait` stands
/// before the host fills a buffer that was uploaded before; it is given the event that was recorded behind the
/// copy.
template <class Wait>
void upload_in_rounds(Trial& trial, unsigned buffers, bool ordered, const Wait& wait) {
    const PinnedWords staging[] = {PinnedWords(trial.bytes), PinnedWords(trial.bytes)};
    const Event sent[2];
    const DeviceWords busy(KiB), data(trial.bytes * trial.rounds);
    CHECK(cudaMemset(busy.words, 0, KiB));
    const Streams streams(1, cudaStreamNonBlocking);
    trial.timed([&] {
        for (unsigned round = 0; round < trial.rounds; ++round) {
            const unsigned turn = round % buffers;
            if (round >= buffers)
                wait(sent[turn].event, streams[0]);
            fill_with(staging[turn], round);
            work_on_device(busy.words, flight_us, streams[0]);
            CHECK(cudaMemcpyAsync(data.words + round * staging[turn].count, staging[turn].words, trial.bytes,
                                  cudaMemcpyHostToDevice, streams[0]));
            CHECK(cudaEventRecord(sent[turn].event, streams[0]));
        }
    });
    const PinnedWords last(trial.bytes);
    for (unsigned round = 0; ordered && round < trial.rounds; ++round) {
        CHECK(cudaMemcpy(last.words, data.words + round * last.count, trial.bytes, cudaMemcpyDeviceToHost));
        trial.expect(last.words[0] == round && last.words[last.count - 1] == round);
    }
}

inline void refill_in_flight(Trial& trial) {
    upload_in_rounds(trial, 1, false, [](cudaEvent_t, cudaStream_t) {});
}
inline void refill_behind_event(Trial& trial) {
    upload_in_rounds(trial, 1, true, [](cudaEvent_t sent, cudaStream_t) { CHECK(cudaEventSynchronize(sent)); });
}
inline void refill_two_in_turn(Trial& trial) {
    upload_in_rounds(trial, 2, true, [](cudaEvent_t sent, cudaStream_t) { CHECK(cudaEventSynchronize(sent)); });
}
inline void refill_when_polled(Trial& trial) {
    upload_in_rounds(trial, 1, true, [](cudaEvent_t sent, cudaStream_t) {
        while (cudaEventQuery(sent) != cudaSuccess)
            work_on_host(20);
    });
}
inline void refill_behind_stream(Trial& trial) {
    upload_in_rounds(trial, 1, true,
                     [](cudaEvent_t, cudaStream_t stream) { CHECK(cudaStreamSynchronize(stream)); });
}
/// A function in the stream tells the host: no call shows that it was waited for.
inline void tell_host(void* told) {
    // simcuda calls it at once, whatever its clock says: so what is before it in the stream is given its time.
    constexpr std::size_t bytes_a_us = 8000;
    habits::pass_host_time(2 * flight_us * bytes_a_us);
    *static_cast<std::atomic<bool>*>(told) = true;
}
inline void refill_when_called_back(Trial& trial) {
    static std::atomic<bool> told;
    upload_in_rounds(trial, 1, true, [](cudaEvent_t, cudaStream_t stream) {
        told = false;
        CHECK(cudaLaunchHostFunc(stream, tell_host, &told));
        while (!told)
            work_on_host(20);
    });
}

/// When the host fills a buffer for the next round.
enum class Refill : bool { before_wait, after_wait };

/// Uploads new bytes from one buffer in each round, behind work of the same stream, and waits for the stream.
/// `learn` stands between the copy and a refill before the wait.
template <class Learn>
void upload_and_wait(Trial& trial, Refill refill, bool ordered, const Learn& learn) {
    const PinnedWords staging(trial.bytes);
    const Event sent;
    const DeviceWords busy(KiB), data(trial.bytes * trial.rounds);
    CHECK(cudaMemset(busy.words, 0, KiB));
    const Streams streams(1, cudaStreamNonBlocking);
    fill_with(staging, 0);
    trial.timed([&] {
        for (unsigned round = 0; round < trial.rounds; ++round) {
            work_on_device(busy.words, flight_us, streams[0]);
            CHECK(cudaMemcpyAsync(data.words + round * staging.count, staging.words, trial.bytes,
                                  cudaMemcpyHostToDevice, streams[0]));
            CHECK(cudaEventRecord(sent.event, streams[0]));
            if (refill == Refill::before_wait) {
                learn(sent.event, streams[0]);
                fill_with(staging, round + 1);
            }
            CHECK(cudaStreamSynchronize(streams[0]));
            if (refill == Refill::after_wait)
                fill_with(staging, round + 1);
        }
    });
    const PinnedWords last(trial.bytes);
    for (unsigned round = 0; ordered && round < trial.rounds; ++round) {
        CHECK(cudaMemcpy(last.words, data.words + round * last.count, trial.bytes, cudaMemcpyDeviceToHost));
        trial.expect(last.words[0] == round && last.words[last.count - 1] == round);
    }
}

inline void change_in_flight(Trial& trial) {
    upload_and_wait(trial, Refill::before_wait, false, [](cudaEvent_t, cudaStream_t) {});
}
inline void change_behind_wait(Trial& trial) {
    upload_and_wait(trial, Refill::after_wait, true, [](cudaEvent_t, cudaStream_t) {});
}
inline void change_when_polled(Trial& trial) {
    upload_and_wait(trial, Refill::before_wait, true, [](cudaEvent_t sent, cudaStream_t) {
        while (cudaEventQuery(sent) != cudaSuccess)
            work_on_host(20);
    });
}
inline void change_when_called_back(Trial& trial) {
    static std::atomic<bool> told;
    upload_and_wait(trial, Refill::before_wait, true, [](cudaEvent_t, cudaStream_t stream) {
        told = false;
        CHECK(cudaLaunchHostFunc(stream, tell_host, &told));
        while (!told)
            work_on_host(20);
    });
}
inline void change_when_another_waited(Trial& trial) {
    upload_and_wait(trial, Refill::before_wait, true, [](cudaEvent_t sent, cudaStream_t) {
        std::thread([sent] { CHECK(cudaEventSynchronize(sent)); }).join();
    });
}

/// Scratch memory of each round, freed in one of two streams; `order` stands between use and free.
template <class Order>
void free_scratch(Trial& trial, unsigned freeing, const Order& order) {
    const Streams streams(2, cudaStreamNonBlocking);
    const Event used;
    trial.timed_rounds([&](unsigned) {
        unsigned* scratch = nullptr;
        CHECK(cudaMallocAsync(&scratch, trial.bytes, streams[0]));
        CHECK(cudaMemsetAsync(scratch, 0, trial.bytes, streams[0]));
        work_on_device(scratch, flight_us, streams[0]);
        order(used.event, streams[0], streams[1]);
        CHECK(cudaFreeAsync(scratch, streams[freeing]));
        CHECK(cudaStreamSynchronize(streams[0]));
    });
}

inline void free_elsewhere(Trial& trial) {
    free_scratch(trial, 1, [](cudaEvent_t, cudaStream_t, cudaStream_t) {});
}
inline void free_in_same_stream(Trial& trial) {
    free_scratch(trial, 0, [](cudaEvent_t, cudaStream_t, cudaStream_t) {});
}
inline void free_behind_event(Trial& trial) {
    free_scratch(trial, 1, [](cudaEvent_t used, cudaStream_t from, cudaStream_t to) {
        CHECK(cudaEventRecord(used, from));
        CHECK(cudaStreamWaitEvent(to, used, 0));
    });
}

/// One stream brings the input, 3 in each word, and another adds 1 to it. `order` stands between, is given the
/// data, too, and makes the output `expected`; 0: it orders nothing.
template <class Order>
void hand_over(Trial& trial, unsigned flags, unsigned expected, const Order& order) {
    const PinnedWords input(trial.bytes), output(trial.bytes);
    const DeviceWords busy(KiB), data(trial.bytes);
    CHECK(cudaMemset(busy.words, 0, KiB));
    fill_with(input, 3);
    const Streams streams(2, flags);
    const Event there;
    trial.timed_rounds([&](unsigned) {
        work_on_device(busy.words, flight_us, streams[0]);
        CHECK(cudaMemcpyAsync(data.words, input.words, trial.bytes, cudaMemcpyHostToDevice, streams[0]));
        order(there.event, streams[0], streams[1], data);
        LAUNCH(add_one, grid, block, streams[1], data.words, data.count);
        CHECK(cudaMemcpyAsync(output.words, data.words, trial.bytes, cudaMemcpyDeviceToHost, streams[1]));
        CHECK(cudaDeviceSynchronize());
    });
    trial.expect(expected == 0 || (output.words[0] == expected && output.words[output.count - 1] == expected));
}

inline void hand_over_unordered(Trial& trial) {
    hand_over(trial, cudaStreamNonBlocking, 0,
              [](cudaEvent_t, cudaStream_t, cudaStream_t, const DeviceWords&) {});
}
inline void hand_over_early_event(Trial& trial) {
    const Streams idle(1, cudaStreamNonBlocking); // its event stands for nothing
    hand_over(trial, cudaStreamNonBlocking, 0,
              [&](cudaEvent_t there, cudaStream_t, cudaStream_t to, const DeviceWords&) {
                  CHECK(cudaEventRecord(there, idle[0]));
                  CHECK(cudaStreamWaitEvent(to, there, 0));
              });
}
inline void hand_over_by_event(Trial& trial) {
    hand_over(trial, cudaStreamNonBlocking, 4,
              [](cudaEvent_t there, cudaStream_t from, cudaStream_t to, const DeviceWords&) {
                  CHECK(cudaEventRecord(there, from));
                  CHECK(cudaStreamWaitEvent(to, there, 0));
              });
}
inline void hand_over_by_host(Trial& trial) {
    hand_over(trial, cudaStreamNonBlocking, 4,
              [](cudaEvent_t, cudaStream_t from, cudaStream_t, const DeviceWords&) {
                  CHECK(cudaStreamSynchronize(from));
              });
}
/// The default stream is in order with both, and works on the data in between.
inline void hand_over_by_default_stream(Trial& trial) {
    hand_over(trial, cudaStreamDefault, 5,
              [](cudaEvent_t, cudaStream_t, cudaStream_t, const DeviceWords& data) {
                  LAUNCH(add_one, grid, block, nullptr, data.words, data.count);
              });
}

} // namespace rules
