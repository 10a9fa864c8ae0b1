// One managed buffer that the device and the host change in turn: every byte crosses the link twice a round, by
// faults. The driver never calls this thrashing, the two sides are never at it at the same time.
// pingpong_resident.cu is the clean twin, pingpong_prefetched.cu moves the same bytes by hand.
#include "options.hpp"

#include "tools/simcuda/portable.hpp"

#ifdef __CUDACC__
constexpr example::Options defaults{32, 10};
#else
constexpr example::Options defaults{8, 5};
#endif

KERNEL increment(DevicePtr<float> data, std::size_t n, float by) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
        data[i] += by;
}

double timed_increment(float* data, std::size_t n, float by) {
    const example::Stopwatch watch;
    LAUNCH(increment, 264, 256, nullptr, data, n, by);
    CHECK(cudaDeviceSynchronize());
    return watch.microseconds();
}

int main(int argc, char** argv) {
    const auto options = example::read_managed_options(argc, argv, defaults);
    const std::size_t n = options.bytes() / sizeof(float);

    float* data;
    CHECK(cudaMallocManaged(&data, options.bytes()));
    for (std::size_t i = 0; i < n; ++i)
        data[i] = static_cast<float>(i % 1000);

    std::vector<double> kernels, rounds;
    for (std::size_t round = 0; round < options.rounds; ++round) {
        const example::Stopwatch watch;
        kernels.push_back(timed_increment(data, n, 1.0f));
        for (std::size_t i = 0; i < n; ++i)
            data[i] += 1.0f;
        rounds.push_back(watch.microseconds());
    }
    if (options.time) {
        // What the kernel costs when nothing has to move: the second of two in a row.
        timed_increment(data, n, 0.0f);
        example::print_time("kernel.resident", timed_increment(data, n, 0.0f));
        example::print_time("kernel.first", kernels.front());
        example::print_time("kernel.median", example::median(kernels));
        example::print_time("round.median", example::median(rounds));
    }

    const float added = 2.0f * static_cast<float>(options.rounds);
    bool right = true;
    for (std::size_t i = 0; i < n; ++i)
        right = right && data[i] == static_cast<float>(i % 1000) + added;
    const auto digest = example::checksum(data, options.bytes());
    CHECK(cudaFree(data));
    return example::conclude(n, digest, right);
}
