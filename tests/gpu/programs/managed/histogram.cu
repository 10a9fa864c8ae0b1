// Counts of many samples in few bins, by atomic additions: the host empties the bins before each round and
// reads them after it.
#include "tests/gpu/programs/work.hpp"

constexpr std::size_t bins = std::size_t{1} << 16;

KERNEL count(DevicePtr<const unsigned> samples, DevicePtr<unsigned> bin, unsigned shift, std::size_t n) {
    GRID_STRIDE_LOOP(i, n) {
        const unsigned sample = samples[i];
        atomicAdd(&bin[sample >> shift & (bins - 1)], 1u);
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {128, 16, 12});
    const std::size_t n = work.count<unsigned>(1);
    auto* const samples = work.allocate<unsigned>(n);
    auto* const bin = work.allocate<unsigned>(bins);
    for (std::size_t i = 0; i < n; ++i)
        samples[i] = static_cast<unsigned>(i * 2654435761u);

    bool right = true;
    unsigned largest = 0;
    while (work.next_round()) {
        std::memset(bin, 0, bins * sizeof *bin);
        if (work.round() == 0)
            work.to_device(samples, n);
        work.to_device(bin, bins);
        LAUNCH(count, 264, 256, nullptr, samples, bin, static_cast<unsigned>(work.round()), n);
        work.to_host(bin, bins);
        CHECK(cudaDeviceSynchronize());
        std::size_t total = 0;
        for (std::size_t i = 0; i < bins; ++i) {
            total += bin[i];
            largest = std::max(largest, bin[i]);
        }
        right = right && total == n;
    }
    std::printf("largest %u\n", largest);
    return work.conclude(bin, bins, right);
}
