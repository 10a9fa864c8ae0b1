// Managed memory that host and device take from each other by faults, for so many seconds and so many host
// faults or more. Prints one JSON object.
#include "tools/bench/resident.hpp"
#include "tools/examples/options.hpp"
#include "tools/simcuda/portable.hpp"

#include <thread>

namespace {

using Clock = std::chrono::steady_clock;

/// A word in each: within one block the driver would bring more than was asked for.
constexpr std::size_t block = 2 << 20, blocks = 64;

KERNEL add_one(DevicePtr<unsigned> words, std::size_t step, std::size_t n) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
        words[i * step] += 1;
}

} // namespace

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 0;
    const unsigned long faults = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0;
    if (seconds <= 0 || faults == 0)
        example::refuse("usage: fault_storm SECONDS FAULTS");
    const unsigned rounds = static_cast<unsigned>((faults + blocks - 1) / blocks);
    constexpr std::size_t step = block / sizeof(unsigned);

    unsigned* words;
    CHECK(cudaMallocManaged(&words, blocks * block));
    for (std::size_t i = 0; i < blocks; ++i)
        words[i * step] = 0;
    long warm = 0;
    const auto begun = Clock::now();
    for (unsigned round = 0; round < rounds; ++round) {
        LAUNCH(add_one, 1, blocks, nullptr, words, step, blocks);
        CHECK(cudaDeviceSynchronize());
        for (std::size_t i = 0; i < blocks; ++i)
            words[i * step] += 1;
        if (round == rounds / 10)
            warm = bench::anonymous_kib();
        std::this_thread::sleep_until(begun +
                                      std::chrono::duration_cast<Clock::duration>(
                                          std::chrono::duration<double>(seconds * (round + 1) / rounds)));
    }
    const long end = bench::anonymous_kib();
    for (std::size_t i = 0; i < blocks; ++i)
        if (words[i * step] != 2 * rounds)
            example::refuse("a word has the wrong value");
    CHECK(cudaFree(words));
    std::printf("{\"rounds\": %u, \"warm_kib\": %ld, \"end_kib\": %ld}\n", rounds, warm, end);
    return 0;
}
