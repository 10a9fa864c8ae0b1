// The device goes through a large array round after round; the host reads a small result of each and decides by
// it how to go on.
#include "tests/gpu/programs/work.hpp"

constexpr unsigned blocks = 264, threads = 256;

KERNEL add_up(DevicePtr<const unsigned> data, DevicePtr<unsigned> partial, unsigned factor, std::size_t n) {
    unsigned sum = 0;
    GRID_STRIDE_LOOP(i, n) {
        const unsigned value = data[i];
        sum += value ^ factor;
    }
    partial[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {192, 24, 20});
    const std::size_t n = work.count<unsigned>(1), parts = std::size_t{blocks} * threads;
    auto* const data = work.allocate<unsigned>(n);
    auto* const partial = work.allocate<unsigned>(parts);
    for (std::size_t i = 0; i < n; ++i)
        data[i] = static_cast<unsigned>(i * 2654435761u);

    unsigned factor = 1, before = 0;
    while (work.next_round()) {
        if (work.round() == 0)
            work.to_device(data, n);
        work.to_device(partial, parts);
        LAUNCH(add_up, blocks, threads, nullptr, data, partial, factor, n);
        work.to_host(partial, parts);
        CHECK(cudaDeviceSynchronize());
        before = factor;
        factor = 0;
        for (std::size_t i = 0; i < parts; ++i)
            factor += partial[i];
    }

    unsigned expected = 0;
    for (std::size_t i = 0; i < n; ++i)
        expected += data[i] ^ before;
    return work.conclude(partial, parts, factor == expected);
}
