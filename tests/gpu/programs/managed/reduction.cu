// A sum by levels, each 64 times smaller than the one below, all in one allocation of which the host reads the
// last word.
#include "tests/gpu/programs/work.hpp"

#include <bit>

KERNEL advance(DevicePtr<unsigned> data, std::size_t n) {
    GRID_STRIDE_LOOP(i, n) {
        data[i] = data[i] * 5 + 1;
    }
}

KERNEL reduce(DevicePtr<const unsigned> from, DevicePtr<unsigned> to, std::size_t group, std::size_t n) {
    GRID_STRIDE_LOOP(i, n) {
        unsigned sum = 0;
        for (std::size_t each = 0; each < group; ++each)
            sum += from[each * n + i];
        to[i] = sum;
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {128, 8, 16});
    const std::size_t n = std::bit_floor(work.count<unsigned>(1));
    const std::size_t levels = n + n / 32; // more than what 1/64 + 1/4096 + ... of it add up to
    auto* const data = work.allocate<unsigned>(levels);
    for (std::size_t i = 0; i < levels; ++i)
        data[i] = static_cast<unsigned>(i);

    const unsigned* top = nullptr;
    unsigned history = 0;
    while (work.next_round()) {
        if (work.round() == 0)
            work.to_device(data, levels);
        else
            work.to_device(top, 1);
        LAUNCH(advance, 264, 256, nullptr, data, n);
        unsigned* level = data;
        for (std::size_t size = n; size > 1;) {
            const std::size_t group = std::min<std::size_t>(64, size);
            LAUNCH(reduce, 264, 256, nullptr, level, level + size, group, size / group);
            level += size;
            size /= group;
        }
        top = level;
        work.to_host(top, 1);
        CHECK(cudaDeviceSynchronize());
        history = history * 31 + *top;
    }

    unsigned expected = 0;
    for (std::size_t i = 0; i < n; ++i)
        expected += data[i];
    std::printf("history %u\n", history);
    return work.conclude(data, n, *top == expected);
}
