// A block of flags that the device and the host write in each round, and that a blocking stream copies to the
// device: behind the kernel on the default stream, which writes them last.
#include "tests/gpu/programs/work.hpp"

KERNEL step(DevicePtr<unsigned> state, std::size_t n, DevicePtr<unsigned> flags, std::size_t count) {
    GRID_STRIDE_LOOP(i, n) {
        state[i] = state[i] * 3 + 1;
    }
    GRID_STRIDE_LOOP(i, count) {
        flags[i] += 1;
    }
}

KERNEL add(DevicePtr<unsigned> sums, DevicePtr<const unsigned> flags, std::size_t count) {
    GRID_STRIDE_LOOP(i, count) {
        sums[i] += flags[i];
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
    unsigned *copied = nullptr, *sums = nullptr;
    cudaStream_t stream = nullptr;
    CHECK(cudaMalloc(&copied, count * sizeof(unsigned)));
    CHECK(cudaMalloc(&sums, count * sizeof(unsigned)));
    CHECK(cudaMemset(sums, 0, count * sizeof(unsigned)));
    CHECK(cudaStreamCreate(&stream));

    while (work.next_round()) {
        LAUNCH(step, 8, 256, nullptr, state, n, flags, count); // few threads: it takes a while
        CHECK(cudaMemcpyAsync(copied, flags, count * sizeof(unsigned), cudaMemcpyDefault, stream));
        LAUNCH(add, 1, 256, stream, sums, copied, count);
        CHECK(cudaStreamSynchronize(stream));
        for (std::size_t i = 0; i < count; ++i)
            flags[i] += 2;
    }

    std::vector<unsigned> found(count);
    CHECK(cudaMemcpy(found.data(), sums, count * sizeof(unsigned), cudaMemcpyDefault));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(copied));
    CHECK(cudaFree(sums));
    const std::size_t rounds = work.round();
    bool right = true;
    for (std::size_t i = 0; i < count; ++i)
        right = right && flags[i] == i + 3 * rounds &&
                found[i] == rounds * (i + 1) + 3 * (rounds * (rounds - 1) / 2);
    return work.conclude(state, n, right);
}
