// Two devices read a table at the same time, and one of them changes it after each round: copies would not
// last.
#include "tests/gpu/programs/devices/two.hpp"

KERNEL gather(DevicePtr<const unsigned> table, DevicePtr<unsigned> result, std::size_t n) {
    GRID_STRIDE_LOOP(i, n) {
        result[i % 1024] = table[n - 1 - i] + table[i];
    }
}
KERNEL increment(DevicePtr<unsigned> table, std::size_t n) {
    GRID_STRIDE_LOOP(i, n) {
        table[i] += 1;
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {64, 8, 24});
    managed::need_two_devices();
    const std::size_t n = work.count<unsigned>(1);
    auto* const table = work.allocate<unsigned>(n);
    for (std::size_t i = 0; i < n; ++i)
        table[i] = static_cast<unsigned>(i);
    unsigned* results[managed::both];
    for (auto*& result : results)
        result = work.allocate<unsigned>(1024);

    while (work.next_round()) {
        for (int device = 0; device < managed::both; ++device) {
            CHECK(cudaSetDevice(device));
            LAUNCH(gather, 264, 256, nullptr, table, results[device], n);
        }
        managed::wait_for_both();
        CHECK(cudaSetDevice(0));
        work.to_device(table, n);
        LAUNCH(increment, 264, 256, nullptr, table, n);
        CHECK(cudaDeviceSynchronize());
    }

    bool right = true;
    for (std::size_t i = 0; i < n; ++i)
        right = right && table[i] == static_cast<unsigned>(i + work.round());
    return work.conclude(table, n, right);
}
