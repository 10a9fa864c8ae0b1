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

} // namespace rules
