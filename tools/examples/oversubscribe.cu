// A managed working set larger than the card, walked again and again: each pass evicts what the next one needs.
// Only for simcuda: on a shared card it would push out somebody else's memory, so it refuses to run on any
// other device.
#include "options.hpp"

#include "tools/simcuda/portable.hpp"

// What the host is asked for in the card's stead.
constexpr std::size_t simulated_limit_mib = 512;

KERNEL touch(DevicePtr<unsigned> data, std::size_t n) {
    // One word a page: what matters is which pages are wanted, not how many words.
    constexpr std::size_t page = 4096 / sizeof(unsigned);
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x * page;
    for (std::size_t i = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) * page; i < n; i += stride)
        data[i] += 1u;
}

int main(int argc, char** argv) {
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    if (!std::strstr(properties.name, "simcuda"))
        example::refuse("oversubscribe runs on simcuda only: it needs more managed memory than the card has");
    std::size_t free_bytes, card;
    CHECK(cudaMemGetInfo(&free_bytes, &card));
    const std::size_t mib = (card >> 20) + (card >> 21);
    const auto options = example::read_options(argc, argv, {mib, 3});
    if (options.bytes() <= card)
        example::refuse("--mib: the working set must be larger than the card");
    if (options.mib > simulated_limit_mib)
        example::refuse(
            "the simulated card is too large for this: make it smaller, SIMCUDA_CONFIG=capacity=128M");
    const std::size_t n = options.bytes() / sizeof(unsigned);

    unsigned* data;
    CHECK(cudaMallocManaged(&data, options.bytes()));
    for (std::size_t round = 0; round < options.rounds; ++round) {
        LAUNCH(touch, 264, 256, nullptr, data, n);
        CHECK(cudaDeviceSynchronize());
    }

    bool right = true;
    for (std::size_t i = 0; i < n; ++i)
        right =
            right && data[i] == (i % (4096 / sizeof(unsigned)) ? 0u : static_cast<unsigned>(options.rounds));
    const auto digest = example::checksum(data, options.bytes());
    CHECK(cudaFree(data));
    return example::conclude(n, digest, right);
}
