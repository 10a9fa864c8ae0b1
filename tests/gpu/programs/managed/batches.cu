// New data every round: while the device works on one batch, the host writes the next one into the other
// buffer.
#include "tests/gpu/programs/work.hpp"

#include <utility>

constexpr unsigned blocks = 264, threads = 256;

KERNEL digest(DevicePtr<const unsigned> batch, DevicePtr<unsigned> partial, std::size_t n) {
    unsigned sum = 0;
    GRID_STRIDE_LOOP(i, n) {
        const unsigned value = batch[i];
        sum += value * value;
    }
    partial[blockIdx.x * blockDim.x + threadIdx.x] += sum;
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {96, 12, 10});
    const std::size_t n = work.count<unsigned>(2), parts = std::size_t{blocks} * threads;
    unsigned *current = work.allocate<unsigned>(n), *next = work.allocate<unsigned>(n);
    auto* const partial = work.allocate<unsigned>(parts);
    cudaStream_t compute, copies;
    CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking));
    const auto fill = [n](unsigned* batch, std::size_t number) {
        for (std::size_t i = 0; i < n; ++i)
            batch[i] = static_cast<unsigned>(i * (number + 1));
    };
    std::memset(partial, 0, parts * sizeof *partial);
    fill(current, 0);

    while (work.next_round()) {
        if (work.round() == 0) {
            work.to_device(current, n, compute);
            work.to_device(partial, parts, compute);
        }
        LAUNCH(digest, blocks, threads, compute, current, partial, n);
        work.to_host(current, n, compute); // where the batch after the next is written
        fill(next, work.round() + 1);
        work.to_device(next, n, copies);
        CHECK(cudaStreamSynchronize(copies));
        CHECK(cudaStreamSynchronize(compute));
        std::swap(current, next);
    }

    unsigned sum = 0, expected = 0;
    for (std::size_t i = 0; i < parts; ++i)
        sum += partial[i];
    for (std::size_t number = 0; number < work.round(); ++number)
        for (std::size_t i = 0; i < n; ++i)
            expected += static_cast<unsigned>(i * (number + 1)) * static_cast<unsigned>(i * (number + 1));
    CHECK(cudaStreamDestroy(compute));
    CHECK(cudaStreamDestroy(copies));
    return work.conclude(partial, parts, sum == expected);
}
