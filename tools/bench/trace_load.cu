// Threads that launch, copy, allocate and wait at once, so that whatever happens to the trace meanwhile falls
// into one of their calls. Prints what came out of it: the same in each run. [ROUNDS], of each thread.
#include "tools/simcuda/portable.hpp"

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime_api.h>
#include <thread>
#include <vector>

KERNEL add_one(DevicePtr<unsigned> x) {
    x[0] = x[0] + 1;
}

namespace {

struct Outcome {
    unsigned failed = 0, launched = 0, counted = 0;
    unsigned long long copied = 0;
};

void work(int rounds, Outcome* outcome) {
    const auto check = [&](cudaError_t status) { outcome->failed += status != cudaSuccess; };
    unsigned* x = nullptr;
    check(cudaMalloc(reinterpret_cast<void**>(&x), 1 << 16));
    check(cudaMemset(x, 0, 1 << 16));
    std::vector<unsigned> host(1 << 14);
    for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < 400; ++i, ++outcome->launched)
            LAUNCH(add_one, 1, 1, nullptr, DevicePtr<unsigned>(x));
        int devices = 0;
        check(cudaGetDeviceCount(&devices));
        outcome->counted += static_cast<unsigned>(devices);
        void* memory = nullptr;
        check(cudaMalloc(&memory, 4096));
        check(cudaMemcpy(memory, host.data(), 4096, cudaMemcpyHostToDevice));
        check(cudaFree(memory));
        check(cudaMemcpy(host.data(), x, sizeof(unsigned), cudaMemcpyDeviceToHost));
        outcome->copied += host[0];
        check(cudaDeviceSynchronize());
    }
    check(cudaFree(x));
}

} // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 100;
    Outcome outcomes[4];
    std::vector<std::thread> threads;
    for (Outcome& outcome : outcomes)
        threads.emplace_back(work, rounds, &outcome);
    for (std::thread& thread : threads)
        thread.join();
    for (const Outcome& outcome : outcomes)
        std::printf("%u failed, %u launched, %u counted, %llu copied\n", outcome.failed, outcome.launched,
                    outcome.counted, outcome.copied);
    return 0;
}
