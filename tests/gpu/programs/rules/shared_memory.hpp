#pragma once
// UMA-124, 216 and 217: machines on which kernels reach all memory of the host. On others these would end with
// an illegal address.
#include "managed.hpp"
#include "trial.hpp"

#include <memory>

namespace rules {

/// Memory of malloc that is a mapping of its own.
using HeapWords = std::unique_ptr<unsigned[]>;

// UMA-124

/// The host writes, a kernel adds.
template <class Write, class Launch>
void exchange(Trial& trial, const Write& write, const Launch& launch) {
    DeviceWords total(trial.bytes);
    CHECK(cudaMemset(total.words, 0, trial.bytes));
    for (unsigned round = 0; round < trial.rounds; ++round) {
        write(round);
        trial.timed([&] { launch(total); });
    }
}

inline void copy_in_one_memory(Trial& trial) {
    const HeapWords host(new unsigned[trial.bytes / sizeof(unsigned)]);
    const DeviceWords data(trial.bytes);
    exchange(
        trial, [&](unsigned round) { std::fill_n(host.get(), data.count, round); },
        [&](const DeviceWords& total) {
            CHECK(cudaMemcpy(data.words, host.get(), trial.bytes, cudaMemcpyHostToDevice));
            LAUNCH(accumulate, grid, block, nullptr, total.words, data.words, data.count);
        });
}
inline void share_one_memory(Trial& trial) {
    const ManagedWords data(trial.bytes);
    exchange(
        trial, [&](unsigned round) { std::fill_n(data.words, data.count, round); },
        [&](const DeviceWords& total) {
            LAUNCH(accumulate, grid, block, nullptr, total.words, data.words, data.count);
        });
}
/// Only what is small is copied.
inline void copy_little_in_one_memory(Trial& trial) {
    trial.bytes = 4 * KiB;
    copy_in_one_memory(trial);
}

// UMA-216

inline void prefetch_heap(Trial& trial, cudaMemLocation location) {
    const DeviceWords total(trial.bytes);
    const HeapWords host(new unsigned[total.count]);
    std::fill_n(host.get(), total.count, 1u);
    CHECK(cudaMemset(total.words, 0, trial.bytes));
    trial.timed([&] {
        CHECK(cudaMemPrefetchAsync(host.get(), trial.bytes, location, 0, nullptr));
        LAUNCH(accumulate, grid, block, nullptr, total.words, host.get(), total.count);
    });
}
inline void prefetch_heap_to_device(Trial& trial) {
    prefetch_heap(trial, on_device);
}
inline void prefetch_heap_to_host(Trial& trial) {
    prefetch_heap(trial, on_host);
}
inline void prefetch_managed_instead(Trial& trial) {
    const DeviceWords total(trial.bytes);
    const ManagedWords data(trial.bytes);
    data.fill_from_host(1);
    CHECK(cudaMemset(total.words, 0, trial.bytes));
    trial.timed([&] {
        data.prefetch(on_device);
        LAUNCH(accumulate, grid, block, nullptr, total.words, data.words, data.count);
    });
}

// UMA-217

inline void reach_heap(Trial& trial) {
    const DeviceWords total(trial.bytes);
    const HeapWords host(new unsigned[total.count]);
    std::fill_n(host.get(), total.count, 1u);
    CHECK(cudaMemset(total.words, 0, trial.bytes));
    trial.timed_rounds(
        [&](unsigned) { LAUNCH(accumulate, grid, block, nullptr, total.words, host.get(), total.count); });
}
inline void reach_heap_once(Trial& trial) {
    trial.rounds = 1;
    reach_heap(trial);
}
inline void reach_copy_of_heap(Trial& trial) {
    const DeviceWords total(trial.bytes), data(trial.bytes);
    const HeapWords host(new unsigned[total.count]);
    std::fill_n(host.get(), total.count, 1u);
    CHECK(cudaMemset(total.words, 0, trial.bytes));
    CHECK(cudaMemcpy(data.words, host.get(), trial.bytes, cudaMemcpyHostToDevice));
    trial.timed_rounds(
        [&](unsigned) { LAUNCH(accumulate, grid, block, nullptr, total.words, data.words, data.count); });
}

} // namespace rules
