// Managed memory that is advised to stay on the host, where the device reaches it: prefetching it would undo
// the advice.
#include "tests/gpu/programs/work.hpp"

KERNEL add_to(DevicePtr<unsigned> sum, DevicePtr<const unsigned> table, std::size_t n) {
    GRID_STRIDE_LOOP(i, n) {
        sum[i] += table[i];
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {64, 4, 40});
    const std::size_t n = work.count<unsigned>(2);
    auto* const table = work.allocate<unsigned>(n);
    auto* const sum = work.allocate<unsigned>(n);
    CHECK(cudaMemAdvise(table, n * sizeof *table, cudaMemAdviseSetPreferredLocation,
                        {cudaMemLocationTypeHost, 0}));
    CHECK(cudaMemAdvise(table, n * sizeof *table, cudaMemAdviseSetAccessedBy, {cudaMemLocationTypeDevice, 0}));
    std::memset(table, 0, n * sizeof *table);
    std::memset(sum, 0, n * sizeof *sum);
    CHECK(cudaMemPrefetchAsync(sum, n * sizeof *sum, {cudaMemLocationTypeDevice, 0}, 0, nullptr));
    CHECK(cudaDeviceSynchronize());

    while (work.next_round()) {
        for (std::size_t i = work.round(); i < n; i += 4096)
            table[i] += 1;
        LAUNCH(add_to, 264, 256, nullptr, sum, table, n);
        CHECK(cudaDeviceSynchronize());
    }

    bool right = true;
    for (std::size_t i = 0; i < n; ++i)
        right = right && sum[i] == (i % 4096 < work.round() ? work.round() - i % 4096 : 0);
    return work.conclude(sum, n, right);
}
