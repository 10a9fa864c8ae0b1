// Threads that live for a few calls, one after the other. Says how many there were and how long they took.
#include "tools/simcuda/portable.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

KERNEL count_up(DevicePtr<float> x) {
    x[0] = x[0] + 1;
}

int main(int argc, char** argv) {
    const int threads = argc > 1 ? std::atoi(argv[1]) : 1000;
    float* x = nullptr;
    if (cudaMalloc(reinterpret_cast<void**>(&x), sizeof *x) != cudaSuccess)
        return 1;
    cudaMemset(x, 0, sizeof *x);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < threads; ++i)
        std::thread([x] {
            LAUNCH(count_up, 1, 1, nullptr, DevicePtr<float>(x));
            cudaDeviceSynchronize();
        }).join();
    const auto took = std::chrono::steady_clock::now() - begin;
    float sum = 0;
    cudaMemcpy(&sum, x, sizeof sum, cudaMemcpyDeviceToHost);
    std::printf("threads %d elapsed ms %.3f\n", threads,
                std::chrono::duration<double, std::milli>(took).count());
    return sum == static_cast<float>(threads) ? 0 : 1;
}
