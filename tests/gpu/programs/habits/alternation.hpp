#pragma once
// Habits of data that device and host use in turn, moved by faults, and their near twins.
#include "array.hpp"
#include "timeline.hpp"

namespace habits {

// ping_pong: all is changed by device and host in turn, never at the same time.

inline void alternate(Array& data, unsigned rounds, Span of_host) {
    data.device_fill();
    for (unsigned round = 0; round < rounds; ++round) {
        data.device_add(data.all());
        data.synchronize();
        wait_pause();
        data.host_add(of_host);
        wait_pause();
    }
    if (of_host.cells == data.all().cells)
        data.host_read(data.all());
    else
        data.device_read(data.all());
}

inline void host_loop(Trial& trial) {
    Array data(trial);
    alternate(data, trial.request.rounds, data.all());
}

inline void host_loop_twice(Trial& trial) {
    Array data(trial);
    alternate(data, 2, data.all());
}

inline void host_loop_half(Trial& trial) {
    Array data(trial);
    alternate(data, trial.request.rounds, data.half());
}

inline void host_part_in_kernel(Trial& trial) {
    Array data(trial);
    data.device_fill();
    for (unsigned round = 0; round < 2 * trial.request.rounds; ++round) {
        data.device_add(data.all());
        data.synchronize();
        wait_pause();
    }
    data.device_read(data.all());
}

inline void host_reads_pinned_result(Trial& trial) {
    unsigned* result;
    CHECK(cudaMallocHost(&result, page));
    Array data(trial);
    data.device_fill();
    for (unsigned round = 0; round < trial.request.rounds; ++round) {
        data.device_add(data.all());
        LAUNCH(fill, 1, Array::threads, nullptr, result, 0, page_cells, round);
        data.synchronize();
        const volatile unsigned* const seen = result;
        trial.right = trial.right && *seen == round;
        wait_pause();
    }
    data.device_read(data.all());
    data.synchronize();
    CHECK(cudaFreeHost(result));
}

// read_only_bouncing: both sides read the same data in turn, nobody writes.

inline void read_in_turn(Trial& trial, Array& data) {
    for (unsigned round = 0; round < trial.request.rounds; ++round) {
        data.device_read(data.all());
        data.synchronize();
        wait_pause();
        data.host_read(data.all());
        wait_pause();
    }
}

inline void both_read(Trial& trial) {
    Array data(trial);
    data.device_fill();
    read_in_turn(trial, data);
}

inline void both_read_one_write(Trial& trial) {
    Array data(trial);
    data.device_fill();
    read_in_turn(trial, data);
    data.host_add(data.all());
    read_in_turn(trial, data);
}

inline void both_read_duplicated(Trial& trial) {
    Array data(trial);
    data.device_fill();
    data.synchronize();
    data.advise(cudaMemAdviseSetReadMostly, Array::device);
    data.to_host(data.all()); // a second copy: the device keeps its own
    data.synchronize();
    read_in_turn(trial, data);
}

inline void one_writes_one_reads(Trial& trial) {
    Array data(trial);
    data.device_fill();
    for (unsigned round = 0; round < trial.request.rounds; ++round) {
        data.device_read(data.all());
        data.synchronize();
        wait_pause();
        data.host_add(data.all());
        wait_pause();
    }
    data.host_read(data.all());
}

} // namespace habits
