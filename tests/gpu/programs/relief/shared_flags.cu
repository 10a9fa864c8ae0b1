// A block of flags that the device and the host write in each round, beside a state that stays on the device.
#include "tests/gpu/programs/work.hpp"

KERNEL step(DevicePtr<unsigned> state, std::size_t n, DevicePtr<unsigned> flags, std::size_t count) {
    GRID_STRIDE_LOOP(i, n) {
        state[i] = state[i] * 3 + 1;
    }
    GRID_STRIDE_LOOP(i, count) {
        flags[i] += 1;
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {16, 1, 40});
    const std::size_t n = work.count<unsigned>(1), count = 1024;
    auto* const state = work.allocate<unsigned>(n);
    auto* const flags = work.allocate<unsigned>(count);
    for (std::size_t i = 0; i < n; ++i)
        state[i] = static_cast<unsigned>(i);
    for (std::size_t i = 0; i < count; ++i)
        flags[i] = static_cast<unsigned>(i);

    while (work.next_round()) {
        LAUNCH(step, 264, 256, nullptr, state, n, flags, count);
        CHECK(cudaDeviceSynchronize());
        for (std::size_t i = 0; i < count; ++i)
            flags[i] += 2;
    }

    bool right = true;
    for (std::size_t i = 0; i < count; ++i)
        right = right && flags[i] == static_cast<unsigned>(i + 3 * work.round());
    return work.conclude(state, n, right);
}
