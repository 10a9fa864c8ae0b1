/// One rank of a job on simcuda's clock: rounds of its own code, copies, kernels and page-locking, and after
/// each a collective, whose kernel runs until the slowest rank has come.
///
///     rank_load ROUNDS OWN COPIED KERNEL CALLS MEETING      microseconds; COPIED: KiB
#include "tests/gpu/programs/habits/timeline.hpp"
#include "tools/simcuda/portable.hpp"

#include <cstdlib>
#include <vector>

namespace {

constexpr std::size_t operations_per_us = 33'000'000; // of simcuda's device

bool ok = true;

void check(cudaError_t error) {
    ok = ok && error == cudaSuccess;
}

} // namespace

KERNEL train(DevicePtr<unsigned> words, std::size_t microseconds) {
    COMPUTE(microseconds * operations_per_us);
    words[0] = 1;
}

KERNEL ncclDevKernel_AllReduce_Sum_f32_RING_LL(DevicePtr<unsigned> words, std::size_t microseconds) {
    COMPUTE(microseconds * operations_per_us);
    words[1] = 1;
}

int main(int argc, char** argv) {
    if (argc != 7)
        return 2;
    std::vector<std::size_t> numbers;
    for (int i = 1; i < argc; ++i)
        numbers.push_back(std::strtoul(argv[i], nullptr, 10));
    const std::size_t rounds = numbers[0], own = numbers[1], copied = numbers[2] * 1024, kernel = numbers[3],
                      calls = numbers[4], meeting = numbers[5];
    unsigned *words = nullptr, *pinned = nullptr;
    check(cudaMalloc(&words, copied + 4096));
    check(cudaMallocHost(&pinned, copied + 4096));
    for (std::size_t round = 0; round < rounds; ++round) {
        habits::wait_until(habits::now() + own * 1000);
        check(cudaMemcpy(words, pinned, copied, cudaMemcpyHostToDevice));
        for (std::size_t call = 0; call < calls; ++call) {
            void* scratch = nullptr;
            check(cudaMallocHost(&scratch, 1 << 20));
            check(cudaFreeHost(scratch));
        }
        LAUNCH(train, 1, 1, nullptr, words, kernel);
        LAUNCH(ncclDevKernel_AllReduce_Sum_f32_RING_LL, 1, 1, nullptr, words, meeting);
        check(cudaDeviceSynchronize());
    }
    check(cudaFreeHost(pinned));
    check(cudaFree(words));
    return ok ? 0 : 1;
}
