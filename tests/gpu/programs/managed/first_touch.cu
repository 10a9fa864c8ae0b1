// One kernel over arrays that the host has just written, once: nothing can be learned from an earlier round.
#include "tests/gpu/programs/work.hpp"

KERNEL add(DevicePtr<const unsigned> a, DevicePtr<const unsigned> b, DevicePtr<unsigned> sum, std::size_t n) {
    GRID_STRIDE_LOOP(i, n) {
        sum[i] = a[i] + b[i];
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {192, 24, 1});
    const std::size_t n = work.count<unsigned>(3);
    auto* const a = work.allocate<unsigned>(n);
    auto* const b = work.allocate<unsigned>(n);
    auto* const sum = work.allocate<unsigned>(n);
    for (std::size_t i = 0; i < n; ++i) {
        a[i] = static_cast<unsigned>(i);
        b[i] = 7;
    }

    while (work.next_round()) {
        work.to_device(a, n);
        work.to_device(b, n);
        work.to_device(sum, n);
        LAUNCH(add, 264, 256, nullptr, a, b, sum, n);
        CHECK(cudaDeviceSynchronize());
    }

    bool right = true;
    for (std::size_t i = 0; i < n; ++i)
        right = right && sum[i] == static_cast<unsigned>(i) + 7;
    return work.conclude(sum, n, right);
}
