#pragma once
// UMA-210 to 213: prefetches of managed memory.
#include "managed.hpp"

namespace rules {

// UMA-210

inline void prefetch_each_round(Trial& trial, bool back, bool used) {
    const ManagedWords data(trial.bytes);
    data.fill_on_device(0);
    data.prefetch(on_host);
    CHECK(cudaDeviceSynchronize());
    if (!back)
        data.prefetch(on_device);
    trial.timed_rounds([&](unsigned) {
        if (back) {
            data.prefetch(on_device);
            if (used)
                data.raise();
            data.prefetch(on_host);
        }
        if (!used)
            return;
        CHECK(cudaDeviceSynchronize());
        data.raise_from_host();
    });
}
inline void prefetch_there_and_back(Trial& trial) {
    prefetch_each_round(trial, true, false);
}
inline void prefetch_once(Trial& trial) {
    prefetch_each_round(trial, false, false);
}
inline void prefetch_for_both(Trial& trial) {
    prefetch_each_round(trial, true, true);
}

// UMA-211

inline void prefetch_beside_launch(Trial& trial, bool after, bool in_parts) {
    Digest digest;
    for (unsigned round = 0; round < trial.rounds; ++round) {
        const ManagedWords data(trial.bytes);
        data.fill_from_host(round);
        trial.timed([&] {
            if (!after)
                data.prefetch(on_device);
            digest.add(data);
            if (in_parts)
                CHECK(cudaDeviceSynchronize());
            if (after)
                data.prefetch(on_device);
        });
    }
}
inline void prefetch_after(Trial& trial) {
    prefetch_beside_launch(trial, true, false);
}
inline void prefetch_before(Trial& trial) {
    prefetch_beside_launch(trial, false, false);
}
inline void prefetch_before_and_wait(Trial& trial) {
    prefetch_beside_launch(trial, false, true);
}

// UMA-212

inline void prefetch_resident(Trial& trial, unsigned each_round) {
    const ManagedWords data(trial.bytes);
    Digest digest;
    data.fill_on_device(1);
    trial.timed_rounds([&](unsigned) {
        for (unsigned call = 0; call < each_round; ++call)
            data.prefetch(on_device);
        LAUNCH(add_one, 1, block, nullptr, data.words, block);
        CHECK(cudaDeviceSynchronize());
    });
}
inline void prefetch_what_is_there(Trial& trial) {
    prefetch_resident(trial, 1);
}
inline void prefetch_nothing(Trial& trial) {
    prefetch_resident(trial, 0);
}
/// As many calls, each of what the host has had meanwhile.
inline void prefetch_what_left(Trial& trial) {
    const ManagedWords data(trial.bytes);
    data.fill_on_device(1);
    trial.timed_rounds([&](unsigned) {
        data.prefetch(on_device);
        data.raise();
        data.prefetch(on_host);
        CHECK(cudaDeviceSynchronize());
        data.raise_from_host();
    });
}

// UMA-213

inline void prefetch_in_vain(Trial& trial, bool prefetched, bool used) {
    const ManagedWords data(trial.bytes);
    Digest digest;
    data.fill_from_host(1);
    trial.timed_rounds([&](unsigned) {
        if (prefetched)
            data.prefetch(on_device);
        if (used)
            digest.add(data);
        CHECK(cudaDeviceSynchronize());
        if (prefetched && used)
            data.prefetch(on_host);
        CHECK(cudaDeviceSynchronize());
        data.raise_from_host();
    });
}
inline void prefetch_unused(Trial& trial) {
    prefetch_in_vain(trial, true, false);
}
inline void prefetch_not(Trial& trial) {
    prefetch_in_vain(trial, false, false);
}
inline void prefetch_used(Trial& trial) {
    prefetch_in_vain(trial, true, true);
}

} // namespace rules
