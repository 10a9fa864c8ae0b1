// Memory of pools when the device is reset: what was left allocated is gone with the context, and the same
// program goes on with a new one.
#include "tools/examples/options.hpp"
#include "tools/simcuda/portable.hpp"

KERNEL fill(DevicePtr<unsigned> out, unsigned n, unsigned seed) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = i * 2654435761u + seed;
}

namespace {

constexpr unsigned elements = 1u << 18;
constexpr std::size_t bytes = elements * sizeof(unsigned);

std::uint64_t round(unsigned seed) {
    std::vector<unsigned> host(elements);
    cudaStream_t stream;
    unsigned *data, *left;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocAsync(&data, bytes, stream));
    CHECK(cudaMallocAsync(&left, bytes, stream)); // never freed
    LAUNCH(fill, 64, 256, stream, data, elements, seed);
    CHECK(cudaMemcpyAsync(host.data(), data, bytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeAsync(data, stream));
    return example::checksum(host.data(), bytes);
}

} // namespace

int main() {
    std::uint64_t last = 0;
    for (unsigned seed = 0; seed < 3; ++seed) {
        last = round(seed);
        std::printf("round %u checksum %016llx\n", seed, static_cast<unsigned long long>(last));
        CHECK(cudaDeviceReset());
    }
    std::vector<unsigned> host(elements);
    for (unsigned i = 0; i < elements; ++i)
        host[i] = i * 2654435761u + 2;
    return example::conclude(elements, last, last == example::checksum(host.data(), bytes));
}
