// Managed memory that is on the device before the work begins, and stays there: nothing to prefetch.
#include "tests/gpu/programs/work.hpp"

KERNEL advance(DevicePtr<unsigned> state, DevicePtr<const unsigned> table, std::size_t n) {
    GRID_STRIDE_LOOP(i, n) {
        state[i] = state[i] * 3 + table[i];
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {96, 2, 10});
    const std::size_t n = work.count<unsigned>(2), launches = managed::gpu_or_sim(200, 5);
    auto* const state = work.allocate<unsigned>(n);
    auto* const table = work.allocate<unsigned>(n);
    for (std::size_t i = 0; i < n; ++i)
        state[i] = table[i] = static_cast<unsigned>(i);
    for (auto* const each : {state, table})
        CHECK(cudaMemPrefetchAsync(each, n * sizeof *each, {cudaMemLocationTypeDevice, 0}, 0, nullptr));
    CHECK(cudaDeviceSynchronize());

    while (work.next_round()) {
        for (std::size_t launch = 0; launch < launches; ++launch)
            LAUNCH(advance, 264, 256, nullptr, state, table, n);
        CHECK(cudaDeviceSynchronize());
    }

    const auto by = static_cast<unsigned>(n - 1);
    auto expected = by;
    for (std::size_t step = 0; step < launches * work.round(); ++step)
        expected = expected * 3 + by;

    return work.conclude(state, n, state[n - 1] == expected);
}
