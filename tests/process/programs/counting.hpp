/// One kernel over one managed number, so that a program can show that what it launched has run.
#pragma once

#include "tools/simcuda/portable.hpp"

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime_api.h>

KERNEL count_up(DevicePtr<float> x) {
    x[0] = x[0] + 1;
}

inline float* make() {
    float* x = nullptr;
    if (cudaMallocManaged(&x, 4096) != cudaSuccess)
        std::exit(3);
    x[0] = 0;
    return x;
}

inline void launch(float* x, int times) {
    for (int i = 0; i < times; ++i)
        LAUNCH(count_up, 1, 1, nullptr, DevicePtr<float>(x));
}

/// Prints how waiting went and how many launches ran.
inline void finish(float* x) {
    std::printf("%d ", static_cast<int>(cudaDeviceSynchronize()));
    std::printf("%g\n", static_cast<double>(x[0]));
    std::fflush(stdout);
}
