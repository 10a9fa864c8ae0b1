// The memory of a training loop, managed and larger than the card if asked for: a forward pass over the layers,
// a backward pass in the opposite order, an update of all. Only for simcuda: on a shared card it would push out
// somebody else's memory.
#include "options.hpp"

#include "tools/simcuda/portable.hpp"

namespace {

constexpr std::size_t layers = 12;
constexpr std::size_t buffers = 3 * layers + 1; ///< weights, gradients, and activations with the input

using Buffer = unsigned*;

} // namespace

KERNEL combine(DevicePtr<unsigned> out, DevicePtr<unsigned> left, DevicePtr<unsigned> right, std::size_t n) {
    // One word a page: what matters is which pages are wanted, not how many words.
    constexpr std::size_t page = 4096 / sizeof(unsigned);
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x * page;
    for (std::size_t i = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) * page; i < n; i += stride)
        out[i] += left[i] * 3u + right[i] + 1u;
}

int main(int argc, char** argv) {
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    if (!std::strstr(properties.name, "simcuda"))
        example::refuse(
            "training_loop runs on simcuda only: it may need more managed memory than the card has");
    const auto options = example::read_managed_options(argc, argv, {96, 4});
    const std::size_t n = options.bytes() / buffers / sizeof(unsigned);

    Buffer weights[layers], gradients[layers], activations[layers + 1];
    const auto allocate = [&](Buffer& buffer) {
        CHECK(cudaMallocManaged(&buffer, n * sizeof(unsigned)));
        for (std::size_t i = 0; i < n; i += 1024)
            buffer[i] = static_cast<unsigned>(i);
    };
    for (Buffer& buffer : weights)
        allocate(buffer);
    for (Buffer& buffer : gradients)
        allocate(buffer);
    for (Buffer& buffer : activations)
        allocate(buffer);

    for (std::size_t round = 0; round < options.rounds; ++round) {
        for (std::size_t i = 0; i < layers; ++i)
            LAUNCH(combine, 64, 256, nullptr, activations[i + 1], activations[i], weights[i], n);
        for (std::size_t i = layers; i-- > 0;)
            LAUNCH(combine, 64, 256, nullptr, gradients[i], activations[i + 1], weights[i], n);
        for (std::size_t i = 0; i < layers; ++i)
            LAUNCH(combine, 64, 256, nullptr, weights[i], weights[i], gradients[i], n);
        CHECK(cudaDeviceSynchronize());
    }

    std::uint64_t digest = 0;
    for (const Buffer buffer : weights)
        digest ^= example::checksum(buffer, n * sizeof(unsigned));
    for (const Buffer buffer : weights)
        CHECK(cudaFree(buffer));
    for (const Buffer buffer : gradients)
        CHECK(cudaFree(buffer));
    for (const Buffer buffer : activations)
        CHECK(cudaFree(buffer));
    return example::conclude(n * buffers, digest, true);
}
