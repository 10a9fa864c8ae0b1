// A block of flags that the device and the host write in each round, and that a blocking stream copies to the
// device: behind the kernel on the default stream, which writes them last.
#include "tests/gpu/programs/relief/flags.hpp"

KERNEL add(DevicePtr<unsigned> sums, DevicePtr<const unsigned> flags, std::size_t count) {
    GRID_STRIDE_LOOP(i, count) {
        sums[i] += flags[i];
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {16, 1, 40});
    const relief::Flags own(work);
    constexpr std::size_t count = relief::Flags::count, bytes = count * sizeof(unsigned);
    unsigned *copied = nullptr, *sums = nullptr;
    cudaStream_t stream = nullptr;
    CHECK(cudaMalloc(&copied, bytes));
    CHECK(cudaMalloc(&sums, bytes));
    CHECK(cudaMemset(sums, 0, bytes));
    CHECK(cudaStreamCreate(&stream));

    while (work.next_round()) {
        LAUNCH(step, 8, 256, nullptr, own.state, own.n, own.flags, count); // few threads: it takes a while
        CHECK(cudaMemcpyAsync(copied, own.flags, bytes, cudaMemcpyDefault, stream));
        LAUNCH(add, 1, 256, stream, sums, copied, count);
        CHECK(cudaStreamSynchronize(stream));
        own.raise();
    }

    std::vector<unsigned> found(count);
    CHECK(cudaMemcpy(found.data(), sums, bytes, cudaMemcpyDefault));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(copied));
    CHECK(cudaFree(sums));
    const std::size_t rounds = work.round();
    bool right = own.right(rounds);
    for (std::size_t i = 0; i < count; ++i)
        right = right && found[i] == rounds * (i + 1) + 3 * (rounds * (rounds - 1) / 2);
    return work.conclude(own.state, own.n, right);
}
