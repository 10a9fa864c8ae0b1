// small_copies without its habit: the rows are gathered in one pinned buffer and cross in one copy. Prints the
// same result.
#include "options.hpp"

#include "tools/simcuda/portable.hpp"

#ifdef __CUDACC__
constexpr example::Options defaults{2, 2};
#else
constexpr example::Options defaults{1, 1};
#endif

KERNEL scale(DevicePtr<float> table, std::size_t n, float by) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
        table[i] *= by;
}

int main(int argc, char** argv) {
    const auto options = example::read_options(argc, argv, defaults);
    const std::size_t n = options.bytes() / sizeof(float);

    float *host, *table;
    CHECK(cudaMallocHost(&host, options.bytes()));
    CHECK(cudaMalloc(&table, options.bytes()));

    std::vector<double> uploads;
    for (std::size_t round = 0; round < options.rounds; ++round) {
        const example::Stopwatch watch;
        for (std::size_t i = 0; i < n; ++i)
            host[i] = static_cast<float>(i % 1000);
        CHECK(cudaMemcpy(table, host, options.bytes(), cudaMemcpyHostToDevice));
        uploads.push_back(watch.microseconds());
        LAUNCH(scale, 264, 256, nullptr, table, n, 2.0f);
        CHECK(cudaDeviceSynchronize());
    }
    CHECK(cudaMemcpy(host, table, options.bytes(), cudaMemcpyDeviceToHost));

    bool right = true;
    for (std::size_t i = 0; i < n; ++i)
        right = right && host[i] == 2.0f * static_cast<float>(i % 1000);
    if (options.time)
        example::print_time("upload.median", example::median(uploads));
    const auto digest = example::checksum(host, options.bytes());
    CHECK(cudaFree(table));
    CHECK(cudaFreeHost(host));
    return example::conclude(n, digest, right);
}
