// Many launches over device memory, one after the other, and no managed memory at all.
#include "tests/gpu/programs/work.hpp"

KERNEL advance(DevicePtr<unsigned> state, std::size_t n) {
    GRID_STRIDE_LOOP(i, n) {
        state[i] = state[i] * 3 + 1;
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {32, 1, 10});
    const std::size_t n = work.count<unsigned>(1), launches = managed::gpu_or_sim(1000, 5);
    std::vector<unsigned> state(n);
    unsigned* device;
    CHECK(cudaMalloc(&device, n * sizeof *device));
    CHECK(cudaMemset(device, 0, n * sizeof *device));
    CHECK(cudaDeviceSynchronize());

    while (work.next_round()) {
        for (std::size_t launch = 0; launch < launches; ++launch)
            LAUNCH(advance, 264, 256, nullptr, device, n);
        CHECK(cudaDeviceSynchronize());
    }

    CHECK(cudaMemcpy(state.data(), device, n * sizeof *device, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device));
    unsigned expected = 0;
    for (std::size_t step = 0; step < launches * work.round(); ++step)
        expected = expected * 3 + 1;
    bool right = true;
    for (const unsigned each : state)
        right = right && each == expected;
    return work.conclude(state.data(), n, right);
}
