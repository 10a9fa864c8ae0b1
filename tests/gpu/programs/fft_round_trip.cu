// A cuFFT program: a batch of signals to their spectrum and back.
#include "tools/examples/options.hpp"

#include <cmath>
#include <cufft.h>

namespace {

constexpr int length = 4096, batch = 64;

void check(cufftResult status, int line) {
    if (status == CUFFT_SUCCESS)
        return;
    std::fprintf(stderr, "line %d: cuFFT status %d\n", line, static_cast<int>(status));
    std::exit(example::status_wrong);
}
#define CHECK_FFT(call) check((call), __LINE__)

} // namespace

int main() {
    constexpr std::size_t n = std::size_t{length} * batch;
    std::vector<cufftComplex> signal(n), back(n);
    for (std::size_t i = 0; i < n; ++i)
        signal[i] = {static_cast<float>(i % 13), static_cast<float>(i % 5)};
    cufftComplex* data;
    CHECK(cudaMalloc(&data, n * sizeof(cufftComplex)));
    CHECK(cudaMemcpy(data, signal.data(), n * sizeof(cufftComplex), cudaMemcpyHostToDevice));

    cufftHandle plan;
    CHECK_FFT(cufftPlan1d(&plan, length, CUFFT_C2C, batch));
    for (int round = 0; round < 5; ++round) {
        CHECK_FFT(cufftExecC2C(plan, data, data, CUFFT_FORWARD));
        CHECK_FFT(cufftExecC2C(plan, data, data, CUFFT_INVERSE));
        // The transforms do not scale: each round trip multiplies by the length, a power of two, here undone on
        // the host.
        CHECK(cudaMemcpy(back.data(), data, n * sizeof(cufftComplex), cudaMemcpyDeviceToHost));
        for (cufftComplex& value : back)
            value = {value.x / length, value.y / length};
        CHECK(cudaMemcpy(data, back.data(), n * sizeof(cufftComplex), cudaMemcpyHostToDevice));
    }
    CHECK_FFT(cufftDestroy(plan));
    CHECK(cudaFree(data));

    bool right = true;
    for (std::size_t i = 0; i < n; ++i)
        right =
            right && std::fabs(back[i].x - signal[i].x) < 1e-3f && std::fabs(back[i].y - signal[i].y) < 1e-3f;
    return example::conclude(n, example::checksum(back.data(), n * sizeof(cufftComplex)), right);
}
