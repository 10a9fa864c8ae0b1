#pragma once
// UMA-201, 202, 206 and 207: managed memory that host and device take from each other.
#include "managed.hpp"

namespace rules {

// UMA-201. Both sides go on at once, on so little that a page's turns are less than 100 us apart.

inline void contend(Trial& trial, bool stays, bool apart) {
    const ManagedWords data(trial.bytes);
    if (stays) {
        CHECK(cudaMemAdvise(data.words, trial.bytes, cudaMemAdviseSetPreferredLocation, on_host));
        CHECK(cudaMemAdvise(data.words, trial.bytes, cudaMemAdviseSetAccessedBy, on_device));
    }
    std::fill_n(data.words, data.count, 0u);
    trial.timed_rounds([&](unsigned) {
        data.raise();
        CHECK(cudaDeviceSynchronize());
        if (apart)
            habits::wait_pause();
        data.raise_from_host();
        if (apart)
            habits::wait_pause();
    });
    trial.expect(data.words[data.count - 1] == 2 * trial.rounds);
}
inline void contend_for_pages(Trial& trial) {
    contend(trial, false, false);
}
inline void leave_pages_on_host(Trial& trial) {
    contend(trial, true, false);
}
inline void take_pages_apart(Trial& trial) {
    contend(trial, false, true);
}

// UMA-202

inline void take_turns(Trial& trial, bool prefetched) {
    const ManagedWords data(trial.bytes);
    data.fill_on_device(0);
    trial.timed_rounds([&](unsigned) {
        if (prefetched)
            data.prefetch(on_device);
        data.raise();
        if (prefetched)
            data.prefetch(on_host);
        step_apart();
        data.raise_from_host();
        step_apart();
    });
    trial.expect(data.words[data.count - 1] == 2 * trial.rounds);
}
inline void ping_pong(Trial& trial) {
    take_turns(trial, false);
}
inline void ping_pong_prefetched(Trial& trial) {
    take_turns(trial, true);
}
inline void device_alone(Trial& trial) {
    const ManagedWords data(trial.bytes);
    data.fill_on_device(0);
    trial.timed_rounds([&](unsigned) {
        data.raise();
        CHECK(cudaDeviceSynchronize());
        data.raise();
    });
}

// UMA-206

inline void raise_flag(Trial& trial, const ManagedWords& data, volatile unsigned* flag) {
    data.fill_on_device(0);
    trial.timed_rounds([&](unsigned round) {
        LAUNCH(add_one, grid, block, nullptr, data.words, data.count - 1024);
        CHECK(cudaDeviceSynchronize());
        habits::wait_pause();
        *flag = round;
        habits::wait_pause();
    });
}
/// The host's word lies in the block of the device's.
inline void flag_among_data(Trial& trial) {
    const ManagedWords data(trial.bytes);
    raise_flag(trial, data, data.words + data.count - 1);
}
inline void flag_apart(Trial& trial) {
    const ManagedWords data(trial.bytes);
    const PinnedWords flag(sizeof(unsigned));
    raise_flag(trial, data, flag.words);
}
inline void flag_in_managed_page_of_its_own(Trial& trial) {
    const ManagedWords data(trial.bytes), flag(4096);
    raise_flag(trial, data, flag.words);
}

// UMA-207

inline void read_in_turn(Trial& trial, bool read_mostly, bool changed) {
    const ManagedWords data(trial.bytes);
    Digest digest;
    data.fill_from_host(1);
    if (read_mostly) {
        CHECK(cudaMemAdvise(data.words, trial.bytes, cudaMemAdviseSetReadMostly, on_device));
        data.prefetch(on_device);
    }
    unsigned sum = 0;
    trial.timed_rounds([&](unsigned round) {
        digest.add(data);
        step_apart();
        sum += data.sum();
        step_apart();
        if (changed)
            data.raise_from_host(round + 1);
    });
    trial.expect(sum != 0);
}
inline void read_by_both(Trial& trial) {
    read_in_turn(trial, false, false);
}
inline void read_by_both_duplicated(Trial& trial) {
    read_in_turn(trial, true, false);
}
inline void read_by_both_changed(Trial& trial) {
    read_in_turn(trial, false, true);
}

} // namespace rules
