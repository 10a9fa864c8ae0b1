// Large copies to and from memory of malloc: the driver stages each through a small buffer of its own, so they
// run at a fraction of the link and cudaMemcpyAsync returns only when the bytes have left. pinned_copies.cu is
// the clean twin.
#include "options.hpp"

#include "tools/simcuda/portable.hpp"

#ifdef __CUDACC__
constexpr example::Options defaults{64, 10};
#else
constexpr example::Options defaults{8, 4};
#endif

KERNEL accumulate(DevicePtr<float> total, DevicePtr<const float> data, std::size_t n) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
        total[i] += data[i];
}

void upload(float* to, const float* from, std::size_t half, cudaStream_t stream) {
    CHECK(cudaMemcpy(to, from, half * sizeof *to, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyAsync(to + half, from + half, half * sizeof *to, cudaMemcpyHostToDevice, stream));
}

int main(int argc, char** argv) {
    const auto options = example::read_options(argc, argv, defaults);
    const std::size_t n = options.bytes() / sizeof(float);

    auto* host = static_cast<float*>(std::malloc(options.bytes()));
    auto* back = static_cast<float*>(std::malloc(options.bytes()));
    if (!host || !back)
        example::refuse("no host memory");
    float *data, *total;
    CHECK(cudaMalloc(&data, options.bytes()));
    CHECK(cudaMalloc(&total, options.bytes()));
    CHECK(cudaMemset(total, 0, options.bytes()));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    for (std::size_t i = 0; i < n; ++i)
        host[i] = static_cast<float>(i % 1000);

    std::vector<double> uploads;
    for (std::size_t round = 0; round < options.rounds; ++round) {
        const example::Stopwatch watch;
        upload(data, host, n / 2, stream);
        CHECK(cudaStreamSynchronize(stream));
        uploads.push_back(watch.microseconds());
        LAUNCH(accumulate, 264, 256, stream, total, data, n);
        CHECK(cudaStreamSynchronize(stream));
        for (std::size_t i = 0; i < n; ++i)
            host[i] += 1;
    }
    CHECK(cudaMemcpy(back, total, options.bytes(), cudaMemcpyDeviceToHost));

    bool right = true;
    const std::size_t added = options.rounds * (options.rounds - 1) / 2; // 0 + 1 + 2 ..
    for (std::size_t i = 0; i < n; ++i)
        right = right && back[i] == static_cast<float>(i % 1000 * options.rounds + added);
    if (options.time)
        example::print_time("upload.median", example::median(uploads));
    const auto digest = example::checksum(back, options.bytes());
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(data));
    CHECK(cudaFree(total));
    std::free(host);
    std::free(back);
    return example::conclude(n, digest, right);
}
