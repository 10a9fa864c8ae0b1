#pragma once
// UMA-208 and 209: managed memory in the wrong place for all of its use.
#include "managed.hpp"

namespace rules {

// UMA-208

inline void read_where_it_is(Trial& trial, bool remote, unsigned rounds) {
    const ManagedWords data(trial.bytes);
    Digest digest;
    if (remote) {
        CHECK(cudaMemAdvise(data.words, trial.bytes, cudaMemAdviseSetPreferredLocation, on_host));
        CHECK(cudaMemAdvise(data.words, trial.bytes, cudaMemAdviseSetAccessedBy, on_device));
    }
    data.fill_from_host(1);
    trial.timed([&] {
        if (!remote)
            data.prefetch(on_device);
        for (unsigned round = 0; round < rounds; ++round)
            digest.add(data);
    });
}
inline void read_remotely(Trial& trial) {
    read_where_it_is(trial, true, trial.rounds);
}
inline void read_locally(Trial& trial) {
    read_where_it_is(trial, false, trial.rounds);
}
inline void read_remotely_once(Trial& trial) {
    read_where_it_is(trial, true, 1);
}

// UMA-209

/// All passes over a piece of `piece` bytes before the next, each piece brought ahead.
inline void pass_over(Trial& trial, std::size_t bytes, std::size_t piece) {
    const ManagedWords data(bytes);
    const std::size_t words = piece / sizeof(unsigned);
    trial.timed([&] {
        for (std::size_t at = 0; at < data.count; at += words) {
            if (piece != bytes)
                CHECK(cudaMemPrefetchAsync(data.words + at, piece, on_device, 0, nullptr));
            for (unsigned round = 0; round < trial.rounds; ++round) {
                LAUNCH(add_one, grid, block, nullptr, data.words + at, words);
                CHECK(cudaDeviceSynchronize());
            }
        }
    });
    trial.expect(data.words[data.count - 1] == trial.rounds);
}
inline void pass_over_all(Trial& trial) {
    pass_over(trial, trial.bytes, trial.bytes);
}
inline void pass_over_pieces(Trial& trial) {
    pass_over(trial, trial.bytes, trial.bytes / 8);
}
inline void pass_over_what_fits(Trial& trial) {
    pass_over(trial, trial.bytes / 2, trial.bytes / 2);
}

} // namespace rules
