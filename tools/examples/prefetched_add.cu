// vector_add_managed without its habit: what the kernel will touch is prefetched to the device first, by hand.
// Prints the same result. kernel.first is from the first prefetch to the end of the first kernel, transfer the
// prefetch alone.
#include "options.hpp"

#include "tools/simcuda/portable.hpp"

#ifdef __CUDACC__
constexpr example::Options defaults{192, 3};
#else
constexpr example::Options defaults{24, 3};
#endif

KERNEL add(DevicePtr<const float> a, DevicePtr<const float> b, DevicePtr<float> sum, std::size_t n) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
        sum[i] = a[i] + b[i];
}

int main(int argc, char** argv) {
    const auto options = example::read_managed_options(argc, argv, defaults);
    const std::size_t bytes = options.bytes() / 3, n = bytes / sizeof(float);
    const cudaMemLocation device{cudaMemLocationTypeDevice, 0}, host{cudaMemLocationTypeHost, 0};

    float *a, *b, *sum;
    CHECK(cudaMallocManaged(&a, bytes));
    CHECK(cudaMallocManaged(&b, bytes));
    CHECK(cudaMallocManaged(&sum, bytes));
    for (std::size_t i = 0; i < n; ++i) {
        a[i] = static_cast<float>(i % 1000);
        b[i] = 1.0f;
    }

    double first = 0, transfer = 0;
    std::vector<double> later;
    for (std::size_t round = 0; round < options.rounds; ++round) {
        const example::Stopwatch watch;
        if (round == 0) {
            CHECK(cudaMemPrefetchAsync(a, bytes, device, 0, nullptr));
            CHECK(cudaMemPrefetchAsync(b, bytes, device, 0, nullptr));
            CHECK(cudaMemPrefetchAsync(sum, bytes, device, 0, nullptr));
            CHECK(cudaStreamSynchronize(nullptr));
            transfer = watch.microseconds();
        }
        LAUNCH(add, 264, 256, nullptr, a, b, sum, n);
        CHECK(cudaDeviceSynchronize());
        if (round == 0)
            first = watch.microseconds();
        else
            later.push_back(watch.microseconds());
    }

    CHECK(cudaMemPrefetchAsync(sum, bytes, host, 0, nullptr));
    CHECK(cudaDeviceSynchronize());
    bool right = true;
    for (std::size_t i = 0; i < n; ++i)
        right = right && sum[i] == static_cast<float>(i % 1000) + 1.0f;
    if (options.time) {
        example::print_time("kernel.first", first);
        example::print_time("kernel.later", example::median(later));
        example::print_time("transfer", transfer);
    }
    const auto digest = example::checksum(sum, n * sizeof(float));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(sum));
    return example::conclude(n, digest, right);
}
