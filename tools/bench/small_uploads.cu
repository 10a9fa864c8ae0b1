// A thousand copies of 4 KiB from page-locked memory between two launches, in each round. Prints
// `elapsed ms: N` and a sum of what the device has at the end. `fixed`: one copy of all.
#include "tools/examples/options.hpp"

#include "tools/simcuda/portable.hpp"

namespace {

constexpr std::size_t copies = 1000, bytes = 4096, rounds = 200, words = copies * bytes / sizeof(unsigned);

} // namespace

KERNEL add_all(DevicePtr<const unsigned> from, DevicePtr<unsigned> to, std::size_t count) {
    for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        to[i] = to[i] + from[i];
    }
}

int main(int argc, char** argv) {
    const bool fixed = argc == 2 && !std::strcmp(argv[1], "fixed");
    if (argc > 2 || (argc == 2 && !fixed))
        example::refuse("usage: [fixed]");
    unsigned *host = nullptr, *from = nullptr, *to = nullptr;
    CHECK(cudaMallocHost(&host, copies * bytes));
    CHECK(cudaMalloc(&from, copies * bytes));
    CHECK(cudaMalloc(&to, copies * bytes));
    CHECK(cudaMemset(to, 0, copies * bytes));
    cudaStream_t stream = nullptr;
    CHECK(cudaStreamCreate(&stream));
    const example::Stopwatch watch;
    for (std::size_t round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < copies; ++i)
            host[i * bytes / sizeof(unsigned)] = static_cast<unsigned>(round * i);
        LAUNCH(add_all, 64, 128, stream, from, to, words / 16);
        if (fixed)
            CHECK(cudaMemcpyAsync(from, host, copies * bytes, cudaMemcpyHostToDevice, stream));
        for (std::size_t i = 0; i < copies && !fixed; ++i)
            CHECK(cudaMemcpyAsync(from + i * bytes / sizeof(unsigned), host + i * bytes / sizeof(unsigned),
                                  bytes, cudaMemcpyHostToDevice, stream));
        LAUNCH(add_all, 64, 128, stream, from, to, words / 16);
        CHECK(cudaStreamSynchronize(stream));
    }
    const double elapsed = watch.microseconds() / 1000.0;
    CHECK(cudaMemcpy(host, to, copies * bytes, cudaMemcpyDeviceToHost));
    unsigned long sum = 0;
    for (std::size_t i = 0; i < words; ++i)
        sum = sum * 31 + host[i];
    std::printf("sum %lu\nelapsed ms: %.3f\n", sum, elapsed);
    return 0;
}
