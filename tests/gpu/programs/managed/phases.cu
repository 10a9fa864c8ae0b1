// Two phases in turn, with a working set each and a table for both. The host changes the set of the phase that
// is not under way.
#include "tests/gpu/programs/work.hpp"

KERNEL advance(DevicePtr<unsigned> set, DevicePtr<const unsigned> table, std::size_t n) {
    GRID_STRIDE_LOOP(i, n) {
        set[i] = set[i] * 3 + table[i];
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {96, 12, 8});
    const std::size_t n = work.count<unsigned>(3);
    unsigned* const set[] = {work.allocate<unsigned>(n), work.allocate<unsigned>(n)};
    auto* const table = work.allocate<unsigned>(n);
    for (std::size_t i = 0; i < n; ++i) {
        set[0][i] = set[1][i] = 0;
        table[i] = static_cast<unsigned>(i);
    }

    while (work.next_round())
        for (std::size_t phase = 0; phase < 2; ++phase) {
            unsigned *const here = set[phase], *const other = set[1 - phase];
            if (work.round() == 0 && phase == 0)
                work.to_device(table, n);
            work.to_device(here, n);
            LAUNCH(advance, 264, 256, nullptr, here, table, n);
            LAUNCH(advance, 264, 256, nullptr, here, table, n);
            work.to_host(here, n);
            for (std::size_t i = 0; i < n; ++i)
                other[i] += 1;
            CHECK(cudaDeviceSynchronize());
        }

    bool right = true;
    for (std::size_t i = 0; i < n; ++i) {
        unsigned expected[2] = {};
        for (std::size_t turn = 0; turn < 2 * work.round(); ++turn) {
            const auto by = static_cast<unsigned>(i);
            expected[turn % 2] = (expected[turn % 2] * 3 + by) * 3 + by;
            expected[1 - turn % 2] += 1;
        }
        right = right && set[0][i] == expected[0] && set[1][i] == expected[1];
    }
    return work.conclude(set[1], n, right);
}
