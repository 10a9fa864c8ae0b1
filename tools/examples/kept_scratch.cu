// fresh_scratch without its habit: the memory is allocated once. Prints the same result.
#include "options.hpp"

#include "tools/simcuda/portable.hpp"

constexpr example::Options defaults{1, 1000};

constexpr std::size_t n = 256; // small, so that the calls show and not the kernels

KERNEL fill(DevicePtr<float> scratch, std::size_t count, float value) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
        scratch[i] = value;
}

KERNEL add(DevicePtr<float> sum, DevicePtr<float> scratch, std::size_t count) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
        sum[i] += scratch[i];
}

int main(int argc, char** argv) {
    const auto options = example::read_options(argc, argv, defaults);

    float *sum, *scratch;
    CHECK(cudaMalloc(&sum, n * sizeof(float)));
    CHECK(cudaMemset(sum, 0, n * sizeof(float)));
    CHECK(cudaMalloc(&scratch, n * sizeof(float)));

    std::vector<double> rounds;
    for (std::size_t round = 0; round < options.rounds; ++round) {
        const example::Stopwatch watch;
        LAUNCH(fill, 1, 256, nullptr, scratch, n, 1.0f);
        LAUNCH(add, 1, 256, nullptr, sum, scratch, n);
        CHECK(cudaDeviceSynchronize());
        rounds.push_back(watch.microseconds());
    }

    std::vector<float> back(n);
    CHECK(cudaMemcpy(back.data(), sum, n * sizeof(float), cudaMemcpyDeviceToHost));
    bool right = true;
    for (const float value : back)
        right = right && value == static_cast<float>(options.rounds);
    if (options.time)
        example::print_time("round.median", example::median(rounds));
    CHECK(cudaFree(scratch));
    CHECK(cudaFree(sum));
    return example::conclude(n, example::checksum(back.data(), n * sizeof(float)), right);
}
