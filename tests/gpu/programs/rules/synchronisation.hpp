#pragma once
// UMA-5xx: what waits, and for nothing.
#include "trial.hpp"

namespace rules {

inline constexpr unsigned checks = 20;

inline void check_errors() {
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
}

inline void checked_often(Trial& trial) {
    DeviceWords data(trial.bytes);
    CHECK(cudaMemset(data.words, 0, trial.bytes));
    trial.timed_rounds([&](unsigned) {
        LAUNCH(add_one, 1, block, nullptr, data.words, data.count);
        CHECK(cudaDeviceSynchronize());
        for (unsigned check = 0; check < checks; ++check)
            check_errors();
    });
}

inline void checked_once(Trial& trial) {
    DeviceWords data(trial.bytes);
    CHECK(cudaMemset(data.words, 0, trial.bytes));
    trial.timed_rounds([&](unsigned) {
        LAUNCH(add_one, 1, block, nullptr, data.words, data.count);
        CHECK(cudaDeviceSynchronize());
    });
}

/// As many synchronisations as checked_often has, each with a kernel to wait for.
inline void checked_each_kernel(Trial& trial) {
    DeviceWords data(trial.bytes);
    CHECK(cudaMemset(data.words, 0, trial.bytes));
    trial.timed_rounds([&](unsigned) {
        for (unsigned check = 0; check < checks; ++check) {
            LAUNCH(add_one, 1, block, nullptr, data.words, data.count);
            check_errors();
        }
    });
}

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

inline void waited_early(Trial& trial) {
    take_turns(trial, turn_us, turn_us, [](unsigned*) { CHECK(cudaDeviceSynchronize()); });
}
inline void not_waited(Trial& trial) {
    take_turns(trial, turn_us, turn_us, [](unsigned*) {});
}
/// The host has nothing else to do.
inline void waited_at_leisure(Trial& trial) {
    take_turns(trial, turn_us, 0, [](unsigned*) { CHECK(cudaDeviceSynchronize()); });
}

/// The host works on what the device has just made.
inline void results_in_turns(Trial& trial) {
    const PinnedWords result(trial.bytes);
    take_turns(trial, turn_us, turn_us, [&](unsigned* words) {
        CHECK(cudaMemcpy(result.words, words, trial.bytes, cudaMemcpyDeviceToHost));
    });
}
/// On what it made the round before, while it works on the next.
inline void results_of_the_last(Trial& trial) {
    const PinnedWords result(trial.bytes);
    DeviceWords data(trial.bytes);
    CHECK(cudaMemset(data.words, 0, trial.bytes));
    cudaEvent_t done;
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    trial.timed([&] {
        for (unsigned round = 0; round < trial.rounds; ++round) {
            work_on_device(data.words, turn_us);
            CHECK(cudaMemcpyAsync(result.words, data.words, trial.bytes, cudaMemcpyDeviceToHost, nullptr));
            CHECK(cudaEventRecord(done, nullptr));
            work_on_host(turn_us);
            CHECK(cudaEventSynchronize(done));
        }
    });
    CHECK(cudaEventDestroy(done));
}
inline void results_at_leisure(Trial& trial) {
    const PinnedWords result(trial.bytes);
    take_turns(trial, turn_us, 0, [&](unsigned* words) {
        CHECK(cudaMemcpy(result.words, words, trial.bytes, cudaMemcpyDeviceToHost));
    });
}

/// Memory for each round's work on the device.
inline std::vector<unsigned*> make_scratch(const Trial& trial) {
    std::vector<unsigned*> scratch(trial.rounds);
    for (unsigned*& each : scratch) {
        CHECK(cudaMalloc(&each, trial.bytes));
        CHECK(cudaMemset(each, 0, trial.bytes));
    }
    return scratch;
}
/// Freed before the host goes on, and the free waits.
inline void freed_in_flight(Trial& trial) {
    const std::vector<unsigned*> scratch = make_scratch(trial);
    trial.timed_rounds([&](unsigned round) {
        work_on_device(scratch[round], 3 * turn_us);
        CHECK(cudaFree(scratch[round]));
        work_on_host(3 * turn_us);
    });
}
inline void freed_at_the_end(Trial& trial) {
    const std::vector<unsigned*> scratch = make_scratch(trial);
    trial.timed([&] {
        for (unsigned* const each : scratch) {
            work_on_device(each, 3 * turn_us);
            work_on_host(3 * turn_us);
        }
        for (unsigned* const each : scratch)
            CHECK(cudaFree(each));
    });
}
/// The device is idle by then.
inline void freed_when_idle(Trial& trial) {
    const std::vector<unsigned*> scratch = make_scratch(trial);
    trial.timed_rounds([&](unsigned round) {
        work_on_device(scratch[round], 3 * turn_us);
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaFree(scratch[round]));
    });
}

/// The host has `pieces` of work while the device works, and asks after each `apart` of them whether it is
/// done.
inline void ask_between_pieces(Trial& trial, unsigned apart) {
    constexpr unsigned pieces = 1000, piece_us = 4;
    DeviceWords data(trial.bytes);
    CHECK(cudaMemset(data.words, 0, trial.bytes));
    trial.timed_rounds([&](unsigned) {
        work_on_device(data.words, pieces * piece_us * 3 / 4);
        bool done = apart == 0;
        for (unsigned piece = 0; piece < pieces; ++piece) {
            work_on_host(piece_us);
            if (!done && piece % apart == 0)
                done = cudaStreamQuery(nullptr) == cudaSuccess;
        }
        CHECK(cudaDeviceSynchronize());
    });
}
inline void asked_all_the_time(Trial& trial) {
    ask_between_pieces(trial, 1);
}
inline void asked_never(Trial& trial) {
    ask_between_pieces(trial, 0);
}
inline void asked_now_and_then(Trial& trial) {
    ask_between_pieces(trial, 50);
}

} // namespace rules
