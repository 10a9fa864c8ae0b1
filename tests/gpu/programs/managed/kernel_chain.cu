// A chain of kernels, each of which brings an array of its own to a vector that the host writes before the
// chain and reads after it.
#include "tests/gpu/programs/work.hpp"

KERNEL weigh(DevicePtr<unsigned> x, DevicePtr<const unsigned> weight, std::size_t n) {
    GRID_STRIDE_LOOP(i, n) {
        x[i] = x[i] * weight[i] + 1;
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {160, 20, 4});
    constexpr std::size_t links = 4;
    const std::size_t n = work.count<unsigned>(links + 1);
    auto* const x = work.allocate<unsigned>(n);
    unsigned* weight[links];
    for (std::size_t link = 0; link < links; ++link) {
        weight[link] = work.allocate<unsigned>(n);
        for (std::size_t i = 0; i < n; ++i)
            weight[link][i] = static_cast<unsigned>(i % 5 + link);
    }

    unsigned total = 0;
    while (work.next_round()) {
        for (std::size_t i = 0; i < n; ++i)
            x[i] = static_cast<unsigned>(i + work.round());
        work.to_device(x, n);
        for (auto* const each : weight) {
            if (work.round() == 0)
                work.to_device(each, n);
            LAUNCH(weigh, 264, 256, nullptr, x, each, n);
        }
        work.to_host(x, n);
        CHECK(cudaDeviceSynchronize());
        for (std::size_t i = 0; i < n; ++i)
            total += x[i];
    }

    bool right = true;
    for (std::size_t i = 0; i < n; ++i) {
        auto expected = static_cast<unsigned>(i + work.round() - 1);
        for (std::size_t link = 0; link < links; ++link)
            expected = expected * static_cast<unsigned>(i % 5 + link) + 1;
        right = right && x[i] == expected;
    }
    std::printf("total %u\n", total);
    return work.conclude(x, n, right);
}
