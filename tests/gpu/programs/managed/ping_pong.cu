// The device and the host change the whole of an array in turn.
#include "tests/gpu/programs/work.hpp"

KERNEL increment(DevicePtr<unsigned> data, std::size_t n) {
    GRID_STRIDE_LOOP(i, n) {
        data[i] += 1;
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {64, 8, 8});
    const std::size_t n = work.count<unsigned>(1);
    auto* const data = work.allocate<unsigned>(n);
    for (std::size_t i = 0; i < n; ++i)
        data[i] = static_cast<unsigned>(i);

    while (work.next_round()) {
        work.to_device(data, n);
        LAUNCH(increment, 264, 256, nullptr, data, n);
        work.to_host(data, n);
        CHECK(cudaDeviceSynchronize());
        for (std::size_t i = 0; i < n; ++i)
            data[i] += 2;
    }

    bool right = true;
    for (std::size_t i = 0; i < n; ++i)
        right = right && data[i] == static_cast<unsigned>(i + 3 * work.round());
    return work.conclude(data, n, right);
}
