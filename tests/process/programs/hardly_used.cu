// The host fills a managed array in each round, and a kernel uses one block of it: all of it, where `whole` is
// said.
#include "tools/simcuda/portable.hpp"

#include <cstdio>
#include <cstring>
#include <cuda_runtime_api.h>

namespace {

constexpr std::size_t count = (32u << 20) / sizeof(float);

KERNEL sum_part(DevicePtr<const float> data, std::size_t n, DevicePtr<float> out) {
    float sum = 0;
    for (std::size_t i = 0; i < n; i += 1024)
        sum += data[i];
    out[0] += sum;
}

} // namespace

int main(int argc, char** argv) {
    const bool whole = argc > 1 && std::strcmp(argv[1], "whole") == 0;
    float *data = nullptr, *out = nullptr;
    if (cudaMallocManaged(&data, count * sizeof(float)) != cudaSuccess ||
        cudaMallocManaged(&out, sizeof(float)) != cudaSuccess)
        return 1;
    *out = 0;
    for (int round = 0; round < 24; ++round) {
        for (std::size_t i = 0; i < count; i += 1024)
            data[i] = static_cast<float>((i + static_cast<std::size_t>(round)) % 1000);
        LAUNCH(sum_part, 1, 1, nullptr, data, whole ? count : count / 16, out);
        if (cudaDeviceSynchronize() != cudaSuccess)
            return 1;
    }
    std::printf("%g\n", static_cast<double>(*out));
    return 0;
}
