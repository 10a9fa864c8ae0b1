// Dense matrices, multiplied in tiles of 4 by 4 a thread; the host makes each product into the next right
// factor.
#include "tests/gpu/programs/work.hpp"

#include <cmath>

KERNEL multiply(DevicePtr<const float> a, DevicePtr<const float> b, DevicePtr<float> c, std::size_t n) {
    const std::size_t across = n / 4;
    GRID_STRIDE_LOOP(tile, across * across) {
        const std::size_t row = tile / across * 4, column = tile % across * 4;
        float sum[4][4] = {};
        for (std::size_t k = 0; k < n; ++k) {
            float left[4], right[4];
            for (std::size_t i = 0; i < 4; ++i) {
                left[i] = a[(row + i) * n + k];
                right[i] = b[k * n + column + i];
            }
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j)
                    sum[i][j] += left[i] * right[j];
        }
        for (std::size_t i = 0; i < 4; ++i)
            for (std::size_t j = 0; j < 4; ++j)
                c[(row + i) * n + column + j] = sum[i][j];
        COMPUTE(2.0 * 16 * static_cast<double>(n));
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {108, 1, 4});
    const auto side = static_cast<std::size_t>(std::sqrt(static_cast<double>(work.count<float>(3))));
    const std::size_t n = side / 4 * 4;
    auto* const a = work.allocate<float>(n * n);
    auto* const b = work.allocate<float>(n * n);
    auto* const c = work.allocate<float>(n * n);
    for (std::size_t i = 0; i < n * n; ++i) {
        a[i] = static_cast<float>(i % 13); // so small that every sum is exact
        b[i] = static_cast<float>(i % 7);
    }

    bool right = true;
    while (work.next_round()) {
        if (work.round() == 0)
            work.to_device(a, n * n);
        work.to_device(b, n * n);
        work.to_device(c, n * n);
        LAUNCH(multiply, 264 * 8, 256, nullptr, a, b, c, n);
        work.to_host(b, n * n);
        work.to_host(c, n * n);
        CHECK(cudaDeviceSynchronize());
        float corner = 0;
        for (std::size_t k = 0; k < n; ++k)
            corner += static_cast<float>(((n - 1) * n + k) % 13) * b[k * n + n - 1];
        right = right && c[n * n - 1] == corner;
        for (std::size_t i = 0; i < n * n; ++i)
            b[i] = static_cast<float>(static_cast<unsigned>(c[i]) % 7);
    }
    return work.conclude(c, n * n, right);
}
