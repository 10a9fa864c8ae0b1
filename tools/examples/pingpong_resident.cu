// pingpong without its habit: the host's half of each round is a kernel too, so the buffer crosses once each
// way. Prints the same result.
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

int main(int argc, char** argv) {
    const auto options = example::read_managed_options(argc, argv, defaults);
    const std::size_t n = options.bytes() / sizeof(float);
    const cudaMemLocation device{cudaMemLocationTypeDevice, 0};

    float* data;
    CHECK(cudaMallocManaged(&data, options.bytes()));
    for (std::size_t i = 0; i < n; ++i)
        data[i] = static_cast<float>(i % 1000);
    CHECK(cudaMemPrefetchAsync(data, options.bytes(), device, 0, nullptr));

    std::vector<double> rounds;
    for (std::size_t round = 0; round < options.rounds; ++round) {
        const example::Stopwatch watch;
        LAUNCH(increment, 264, 256, nullptr, data, n, 1.0f);
        LAUNCH(increment, 264, 256, nullptr, data, n, 1.0f);
        CHECK(cudaDeviceSynchronize());
        rounds.push_back(watch.microseconds());
    }
    if (options.time)
        example::print_time("round.median", example::median(rounds));

    const float added = 2.0f * static_cast<float>(options.rounds);
    bool right = true;
    for (std::size_t i = 0; i < n; ++i)
        right = right && data[i] == static_cast<float>(i % 1000) + added;
    const auto digest = example::checksum(data, options.bytes());
    CHECK(cudaFree(data));
    return example::conclude(n, digest, right);
}
