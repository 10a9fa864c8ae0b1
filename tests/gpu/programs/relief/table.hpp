#pragma once
// A table that the device and the host read in each round, and that the host may renew.
#include "tests/gpu/programs/work.hpp"

KERNEL look_up(DevicePtr<const unsigned> table, DevicePtr<unsigned> sums, std::size_t n) {
    GRID_STRIDE_LOOP(i, n) {
        sums[i] += table[i];
    }
}

namespace relief {

/// Whether the host writes a word of the table at the end of a round.
using Renewed = bool (*)(std::size_t round);

inline int read_in_turns(int argc, char** argv, Renewed renewed) {
    managed::Work work(argc, argv, {32, 2, 40});
    const std::size_t n = work.count<unsigned>(2);
    auto* const table = work.allocate<unsigned>(n);
    auto* const sums = work.allocate<unsigned>(n);
    for (std::size_t i = 0; i < n; ++i) {
        table[i] = static_cast<unsigned>(i * 2654435761u);
        sums[i] = 0;
    }

    unsigned seen = 0, expected = 0, sum = 0;
    for (std::size_t i = 0; i < n; ++i)
        sum += table[i];
    while (work.next_round()) {
        LAUNCH(look_up, 264, 256, nullptr, table, sums, n);
        CHECK(cudaDeviceSynchronize());
        for (std::size_t i = 0; i < n; ++i)
            seen += table[i];
        expected += sum;
        if (renewed(work.round())) {
            ++table[n / 2];
            ++sum;
        }
    }

    unsigned middle = 0, word = static_cast<unsigned>(n / 2 * 2654435761u);
    for (std::size_t round = 0; round < work.round(); ++round) {
        middle += word;
        word += renewed(round);
    }
    return work.conclude(sums, n, seen == expected && sums[n / 2] == middle);
}

} // namespace relief
