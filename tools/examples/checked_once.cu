// checked_often without its habit: it waits where it has launched something. Prints the same result.
#include "options.hpp"

#include "tools/simcuda/portable.hpp"

constexpr example::Options defaults{1, 500};

constexpr std::size_t n = 256, parts = 20;

KERNEL raise_all(DevicePtr<float> sum, std::size_t count, float value) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
        sum[i] += value;
}

/// Finds errors of the calls before it, and waits for nothing.
void check_everything() {
    CHECK(cudaGetLastError());
}

int main(int argc, char** argv) {
    const auto options = example::read_options(argc, argv, defaults);

    float* sum;
    CHECK(cudaMalloc(&sum, n * sizeof(float)));
    CHECK(cudaMemset(sum, 0, n * sizeof(float)));

    std::vector<double> rounds;
    for (std::size_t round = 0; round < options.rounds; ++round) {
        const example::Stopwatch watch;
        LAUNCH(raise_all, 1, 256, nullptr, sum, n, 1.0f);
        CHECK(cudaDeviceSynchronize());
        for (std::size_t part = 0; part < parts; ++part)
            check_everything();
        rounds.push_back(watch.microseconds());
    }

    std::vector<float> back(n);
    CHECK(cudaMemcpy(back.data(), sum, n * sizeof(float), cudaMemcpyDeviceToHost));
    bool right = true;
    for (const float value : back)
        right = right && value == static_cast<float>(options.rounds);
    if (options.time)
        example::print_time("round.median", example::median(rounds));
    CHECK(cudaFree(sum));
    return example::conclude(n, example::checksum(back.data(), n * sizeof(float)), right);
}
