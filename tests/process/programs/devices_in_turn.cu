// Managed memory that two devices use: `turns` all of it in turn, `parts` a half each, `once` one after the
// other.
#include "tools/simcuda/portable.hpp"

#include <cstdio>
#include <string_view>

constexpr std::size_t count = (16u << 20) / sizeof(float);

KERNEL step(DevicePtr<float> x, std::size_t first, std::size_t last) {
    for (std::size_t i = first + threadIdx.x; i < last; i += blockDim.x)
        x[i] = x[i] + 1;
}

int main(int argc, char** argv) {
    const std::string_view way = argc == 2 ? argv[1] : "";
    float* x = nullptr;
    if (cudaMallocManaged(reinterpret_cast<void**>(&x), count * sizeof *x) != cudaSuccess)
        return 1;
    for (int round = 0; round < 12; ++round) {
        const int device = way == "once" ? round / 6 : round % 2;
        const std::size_t half = count / 2, first = way == "parts" && device == 1 ? half : 0;
        cudaSetDevice(device);
        LAUNCH(step, 1, 256, nullptr, DevicePtr<float>(x), first, way == "parts" ? first + half : count);
        if (cudaDeviceSynchronize() != cudaSuccess)
            return 1;
    }
    std::printf("%g\n", static_cast<double>(x[0]));
    return 0;
}
