// A stencil whose two grids are swapped after each step; the host reads the newest grid every few steps.
#include "tests/gpu/programs/work.hpp"

#include <utility>

constexpr std::size_t width = managed::gpu_or_sim(4096, 512);

KERNEL step(DevicePtr<const unsigned> from, DevicePtr<unsigned> to, std::size_t rows) {
    GRID_STRIDE_LOOP(i, rows * width) {
        const std::size_t row = i / width, column = i % width;
        const unsigned above = from[row ? i - width : i], below = from[row + 1 < rows ? i + width : i];
        const unsigned left = from[column ? i - 1 : i], right = from[column + 1 < width ? i + 1 : i];
        to[i] = (above + below + left + right) / 4 + 1;
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {128, 8, 6});
    const std::size_t rows = work.count<unsigned>(2) / width, n = rows * width;
    auto* newest = work.allocate<unsigned>(n);
    auto* other = work.allocate<unsigned>(n);
    for (std::size_t i = 0; i < n; ++i)
        newest[i] = static_cast<unsigned>(i % 100'003);

    std::uint64_t heat = 0, sum = 0;
    while (work.next_round()) {
        work.to_device(newest, n);
        if (work.round() == 0)
            work.to_device(other, n);
        for (int count = 0; count < 5; ++count) {
            LAUNCH(step, 264, 256, nullptr, newest, other, rows);
            std::swap(newest, other);
        }
        work.to_host(newest, n);
        CHECK(cudaDeviceSynchronize());
        sum = 0;
        for (std::size_t i = 0; i < n; ++i)
            sum += newest[i];
        heat = heat * 31 + sum;
    }

    // What a step evens out it does not take away, but for what it adds and what it rounds down.
    std::printf("heat %llu\n", static_cast<unsigned long long>(heat));
    return work.conclude(newest, n, sum / n > 40'000 && sum / n < 60'000);
}
