// Allocates device memory until it has what it wants or there is no more, then uses all of it again and again.
#include "options.hpp"

#include "tools/simcuda/portable.hpp"

namespace {

constexpr std::size_t block_mib = 32, most_mib = 384; // the card may be shared

KERNEL advance(DevicePtr<unsigned> data, std::size_t n, unsigned by) {
    // One word a page: what matters is which pages are wanted, not how many words.
    constexpr std::size_t page = 4096 / sizeof(unsigned);
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x * page;
    for (std::size_t i = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) * page; i < n; i += stride)
        data[i] += by;
}

} // namespace

int main(int argc, char** argv) {
    const auto options = example::read_options(argc, argv, {most_mib, 3});
    if (options.mib > most_mib)
        example::refuse("--mib: at most 384 MiB");
    constexpr std::size_t bytes = block_mib << 20, n = bytes / sizeof(unsigned);
    std::vector<unsigned*> blocks;
    while (blocks.size() * block_mib + block_mib <= options.mib) {
        unsigned* block = nullptr;
        const cudaError_t status = cudaMalloc(&block, bytes);
        if (status == cudaErrorMemoryAllocation)
            break;
        CHECK(status);
        CHECK(cudaMemset(block, 0, bytes));
        blocks.push_back(block);
    }
    cudaGetLastError(); // that there was no more is not a launch's failure

    for (std::size_t round = 0; round < options.rounds; ++round)
        for (unsigned i = 0; i < blocks.size(); ++i)
            LAUNCH(advance, 264, 256, nullptr, blocks[i], n, i + 1);
    CHECK(cudaDeviceSynchronize());

    std::printf("blocks %zu\n", blocks.size());
    bool right = true;
    std::uint64_t all = 0;
    std::vector<unsigned> back(n);
    for (unsigned i = 0; i < blocks.size(); ++i) {
        CHECK(cudaMemcpy(back.data(), blocks[i], bytes, cudaMemcpyDeviceToHost));
        right = right && back[0] == (i + 1) * options.rounds && back[1] == 0;
        all = all * 31 + example::checksum(back.data(), bytes);
        CHECK(cudaFree(blocks[i]));
    }
    return example::conclude(blocks.size() * n, all, right);
}
