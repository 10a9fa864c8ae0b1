#pragma once
// Memory of which a phase of the program uses some.
#include "trial.hpp"

namespace rules {

/// Some milliseconds in which the device uses `words` alone.
inline void use_for_long(Trial& trial, DeviceWords& words) {
    for (unsigned round = 0; round < trial.rounds; ++round) {
        LAUNCH(add_one, grid, block, nullptr, words.words, words.count);
        CHECK(cudaDeviceSynchronize());
        work_on_host(4000);
    }
}

/// What the first phase made is read to the end of the second.
inline void first_read_by_second(Trial& trial) {
    trial.timed([&] {
        DeviceWords first(trial.bytes);
        use_for_long(trial, first);
        DeviceWords second(trial.bytes);
        for (unsigned round = 0; round < trial.rounds; ++round) {
            LAUNCH(accumulate, grid, block, nullptr, second.words, first.words, first.count);
            CHECK(cudaDeviceSynchronize());
            work_on_host(4000);
        }
    });
}

} // namespace rules
