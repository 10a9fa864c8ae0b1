// Each of two devices changes its half of an array, and waits in turn: nothing moves.
#include "tests/gpu/programs/devices/two.hpp"

KERNEL increment(DevicePtr<unsigned> data, std::size_t first, std::size_t n) {
    GRID_STRIDE_LOOP(i, n) {
        data[first + i] += 1;
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {64, 8, 24});
    managed::need_two_devices();
    const std::size_t half = work.count<unsigned>(2), n = 2 * half;
    auto* const data = work.allocate<unsigned>(n);
    for (std::size_t i = 0; i < n; ++i)
        data[i] = static_cast<unsigned>(i);

    while (work.next_round())
        for (int device = 0; device < managed::both; ++device) {
            CHECK(cudaSetDevice(device));
            const std::size_t first = static_cast<std::size_t>(device) * half;
            if (work.round() == 0)
                work.to_device(data + first, half, nullptr, device);
            LAUNCH(increment, 264, 256, nullptr, data, first, half);
            CHECK(cudaDeviceSynchronize());
        }

    bool right = true;
    for (std::size_t i = 0; i < n; ++i)
        right = right && data[i] == static_cast<unsigned>(i + work.round());
    return work.conclude(data, n, right);
}
