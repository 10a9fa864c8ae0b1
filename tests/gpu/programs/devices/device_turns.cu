// Two devices change the whole of an array in turn.
#include "tests/gpu/programs/devices/two.hpp"

KERNEL increment(DevicePtr<unsigned> data, std::size_t n) {
    GRID_STRIDE_LOOP(i, n) {
        data[i] += 1;
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {64, 8, 24});
    managed::need_two_devices();
    const std::size_t n = work.count<unsigned>(1);
    auto* const data = work.allocate<unsigned>(n);
    for (std::size_t i = 0; i < n; ++i)
        data[i] = static_cast<unsigned>(i);

    while (work.next_round())
        for (int device = 0; device < managed::both; ++device) {
            CHECK(cudaSetDevice(device));
            work.to_device(data, n, nullptr, device);
            LAUNCH(increment, 264, 256, nullptr, data, n);
            CHECK(cudaDeviceSynchronize());
        }

    bool right = true;
    for (std::size_t i = 0; i < n; ++i)
        right = right && data[i] == static_cast<unsigned>(i + managed::both * work.round());
    return work.conclude(data, n, right);
}
