// Two devices read a table at the same time, which nobody changes.
#include "tests/gpu/programs/devices/two.hpp"

KERNEL gather(DevicePtr<const unsigned> table, DevicePtr<unsigned> result, std::size_t n) {
    GRID_STRIDE_LOOP(i, n) {
        result[i % 1024] = table[n - 1 - i] + table[i];
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
    if (work.by_hand())
        CHECK(cudaMemAdvise(table, n * sizeof(unsigned), cudaMemAdviseSetReadMostly,
                            {cudaMemLocationTypeDevice, 0}));

    while (work.next_round()) {
        for (int device = 0; device < managed::both; ++device) {
            CHECK(cudaSetDevice(device));
            if (work.round() == 0)
                work.to_device(table, n, nullptr, device);
            LAUNCH(gather, 264, 256, nullptr, table, results[device], n);
        }
        managed::wait_for_both();
    }

    bool right = true;
    for (const auto* const result : results)
        for (std::size_t i = 0; i < 1024; ++i)
            right = right && result[i] == static_cast<unsigned>(n - 1);
    return work.conclude(results[0], 1024, right);
}
