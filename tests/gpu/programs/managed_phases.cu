// Three managed arrays in phases that never overlap: host and device change the first in every round, the host
// renews the second in every other round, the third is filled once. So it is known whose bytes move how often.
#include "tests/gpu/programs/habits/timeline.hpp"
#include "tools/examples/options.hpp"
#include "tools/simcuda/portable.hpp"

#ifdef __CUDACC__
constexpr example::Options defaults{96, 40};
#else
constexpr example::Options defaults{14, 12};
#endif

KERNEL step(DevicePtr<unsigned> state, DevicePtr<const unsigned> input, DevicePtr<const unsigned> table,
            std::size_t n) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
        state[i] += input[i / 2] + table[i / 4];
}

int main(int argc, char** argv) {
    const auto options = example::read_managed_options(argc, argv, defaults);
    const std::size_t n =
        options.bytes() / 7 * 4 / sizeof(unsigned) & ~std::size_t{0x1fffff}; // whole blocks of each;
    if (n == 0)
        example::refuse("--mib: at least 14");

    unsigned *state, *input, *table;
    CHECK(cudaMallocManaged(&state, n * sizeof(unsigned)));
    CHECK(cudaMallocManaged(&input, n / 2 * sizeof(unsigned)));
    CHECK(cudaMallocManaged(&table, n / 4 * sizeof(unsigned)));
    for (std::size_t i = 0; i < n; ++i)
        state[i] = 0;
    for (std::size_t i = 0; i < n / 4; ++i)
        table[i] = static_cast<unsigned>(i);

    unsigned added = 0, value = 0;
    for (unsigned round = 0; round < options.rounds; ++round) {
        if (round % 2 == 0) {
            value = round + 1;
            for (std::size_t i = 0; i < n / 2; ++i)
                input[i] = value;
            habits::pass_host_time(n / 2 * sizeof(unsigned));
        }
        LAUNCH(step, 264, 256, nullptr, state, input, table, n);
        CHECK(cudaDeviceSynchronize());
        for (std::size_t i = 0; i < n; ++i)
            ++state[i];
        habits::pass_host_time(n * sizeof(unsigned));
        added += value + 1;
    }

    bool right = true;
    const auto rounds = static_cast<unsigned>(options.rounds);
    for (std::size_t i = 0; i < n; ++i)
        right = right && state[i] == added + rounds * static_cast<unsigned>(i / 4);
    const auto digest = example::checksum(state, n * sizeof(unsigned));
    CHECK(cudaFree(state));
    CHECK(cudaFree(input));
    CHECK(cudaFree(table));
    return example::conclude(n, digest, right);
}
