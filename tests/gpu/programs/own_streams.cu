// Built with nvcc --default-stream per-thread: each thread's default stream is its own, and no call names a
// stream. The runtime then asks the driver for the _ptsz and _ptds entry points.
#include "tools/examples/options.hpp"

#include <thread>

namespace {

constexpr unsigned elements = 1u << 16;
constexpr int threads = 6, rounds = 50;

__global__ void advance(unsigned* data, unsigned by) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < elements)
        data[i] = data[i] * 1664525u + by;
}

void work(unsigned seed, std::vector<unsigned>& out) {
    unsigned* data;
    CHECK(cudaMalloc(&data, elements * sizeof(unsigned)));
    CHECK(cudaMemset(data, 0, elements * sizeof(unsigned)));
    for (unsigned round = 0; round < rounds; ++round) {
        advance<<<elements / 256, 256>>>(data, seed + round);
        CHECK(cudaGetLastError());
        if (round % 10 == 9)
            CHECK(cudaMemcpyAsync(out.data(), data, elements * sizeof(unsigned), cudaMemcpyDeviceToHost));
    }
    CHECK(cudaStreamSynchronize(nullptr));
    CHECK(cudaFree(data));
}

} // namespace

int main() {
    std::vector<std::vector<unsigned>> results(threads, std::vector<unsigned>(elements));
    std::vector<std::thread> running;
    for (unsigned i = 0; i < threads; ++i)
        running.emplace_back(work, i, std::ref(results[i]));
    for (std::thread& each : running)
        each.join();

    bool right = true;
    std::uint64_t all = 0;
    for (unsigned i = 0; i < threads; ++i) {
        unsigned expected = 0;
        for (unsigned round = 0; round < rounds; ++round)
            expected = expected * 1664525u + i + round;
        right = right && results[i].front() == expected && results[i].back() == expected;
        all ^= example::checksum(results[i].data(), elements * sizeof(unsigned)) << i;
    }
    return example::conclude(elements, all, right);
}
