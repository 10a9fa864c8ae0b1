#pragma once
// UMA-121 to 123: page-locked memory that kernels reach across the link, and that the host reads slowly.
#include "trial.hpp"

#include <algorithm>
#include <vector>

namespace rules {

enum class HostTable { reread, copied, refilled, read_once };

/// Each round a kernel adds up a page-locked table.
template <HostTable How>
void add_host_table(Trial& trial) {
    const PinnedWords table(trial.bytes);
    const DeviceWords sums(trial.bytes);
    const auto refill = [&](unsigned round) {
        std::fill_n(table.words, table.count, round + 1);
        if (How == HostTable::refilled)
            work_on_host(8000); // simcuda has no time for what the host writes
    };
    refill(0);
    CHECK(cudaMemset(sums.words, 0, trial.bytes));
    trial.timed([&] {
        unsigned* words = table.words;
        if (How == HostTable::copied) {
            CHECK(cudaMalloc(&words, trial.bytes));
            CHECK(cudaMemcpyAsync(words, table.words, trial.bytes, cudaMemcpyHostToDevice, nullptr));
        }
        for (unsigned round = 0; round < (How == HostTable::read_once ? 1 : trial.rounds); ++round) {
            if (How == HostTable::refilled && round != 0)
                refill(round);
            LAUNCH(accumulate, grid, block, nullptr, sums.words, words, table.count);
            if (How == HostTable::refilled)
                CHECK(cudaDeviceSynchronize());
        }
        if (How == HostTable::copied)
            CHECK(cudaFree(words));
    });
    unsigned sum = 0;
    CHECK(cudaMemcpy(&sum, sums.words + 7, sizeof sum, cudaMemcpyDeviceToHost));
    trial.expect(sum == (How == HostTable::refilled    ? trial.rounds * (trial.rounds + 1) / 2
                         : How == HostTable::read_once ? 1
                                                       : trial.rounds));
}

enum class HostResult { rewritten, downloaded, read_each_round };

/// Each round clears all results and makes them anew, or makes them once for the host to read.
template <HostResult How>
void make_host_results(Trial& trial) {
    const PinnedWords results(trial.bytes);
    unsigned sum = 0;
    trial.timed([&] {
        unsigned* words = results.words;
        if (How == HostResult::downloaded)
            CHECK(cudaMalloc(&words, trial.bytes));
        for (unsigned round = 0; round < trial.rounds; ++round) {
            if (How != HostResult::read_each_round)
                CHECK(cudaMemsetAsync(words, 0, trial.bytes, nullptr));
            LAUNCH(fill, grid, block, nullptr, words, results.count, round);
            if (How == HostResult::read_each_round) {
                CHECK(cudaDeviceSynchronize());
                sum += *std::max_element(results.words, results.words + results.count);
                work_on_host(8000); // simcuda has no time for what the host reads
            }
        }
        if (How == HostResult::downloaded) {
            CHECK(cudaMemcpy(results.words, words, trial.bytes, cudaMemcpyDeviceToHost));
            CHECK(cudaFree(words));
        }
    });
    trial.expect(results.words[results.count - 1] == trial.rounds - 1);
    trial.expect(How != HostResult::read_each_round || sum == trial.rounds * (trial.rounds - 1) / 2);
}

enum class Combined { read, not_combined, written };

/// Each round results go by way of page-locked memory to the heap, or data from there to the device.
template <Combined How>
void pass_combined(Trial& trial) {
    const std::size_t count = trial.bytes / sizeof(unsigned);
    unsigned* stage = nullptr;
    CHECK(cudaHostAlloc(&stage, trial.bytes,
                        How == Combined::not_combined ? cudaHostAllocDefault : cudaHostAllocWriteCombined));
    std::vector<unsigned> heap(count, 1);
    const DeviceWords data(trial.bytes);
    trial.timed_rounds([&](unsigned round) {
        if (How == Combined::written) {
            std::fill_n(stage, count, round);
            CHECK(cudaMemcpy(data.words, stage, trial.bytes, cudaMemcpyHostToDevice));
            LAUNCH(add_one, grid, block, nullptr, data.words, data.count);
        } else {
            LAUNCH(fill, grid, block, nullptr, data.words, data.count, round + 1);
            CHECK(cudaMemcpy(stage, data.words, trial.bytes, cudaMemcpyDeviceToHost));
            CHECK(cudaMemcpy(heap.data(), stage, trial.bytes, cudaMemcpyHostToHost));
        }
    });
    if (How == Combined::written)
        CHECK(cudaMemcpy(heap.data(), data.words, trial.bytes, cudaMemcpyDeviceToHost));
    trial.expect(heap[count - 1] == trial.rounds);
    CHECK(cudaFreeHost(stage));
}

} // namespace rules
