// A cuBLAS program: products of whole numbers, which every order of summation makes exactly the same.
#include "tools/examples/options.hpp"

#include <cublas_v2.h>

namespace {

constexpr int size = 512;

void check(cublasStatus_t status, int line) {
    if (status == CUBLAS_STATUS_SUCCESS)
        return;
    std::fprintf(stderr, "line %d: cuBLAS status %d\n", line, static_cast<int>(status));
    std::exit(example::status_wrong);
}
#define CHECK_BLAS(call) check((call), __LINE__)

} // namespace

int main() {
    constexpr std::size_t n = std::size_t{size} * size;
    std::vector<double> left(n), right(n), product(n);
    for (std::size_t i = 0; i < n; ++i) {
        left[i] = static_cast<double>(i % 7);
        right[i] = static_cast<double>(i % 11);
    }
    double *a, *b, *c;
    CHECK(cudaMalloc(&a, n * sizeof(double)));
    CHECK(cudaMalloc(&b, n * sizeof(double)));
    CHECK(cudaMalloc(&c, n * sizeof(double)));

    cublasHandle_t handle;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK_BLAS(cublasCreate(&handle));
    CHECK_BLAS(cublasSetStream(handle, stream));
    CHECK_BLAS(cublasSetMatrixAsync(size, size, sizeof(double), left.data(), size, a, size, stream));
    CHECK_BLAS(cublasSetMatrixAsync(size, size, sizeof(double), right.data(), size, b, size, stream));
    const double one = 1, zero = 0;
    for (int round = 0; round < 10; ++round)
        CHECK_BLAS(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, size, size, size, &one, a, size, b, size,
                               &zero, c, size));
    double corner = 0;
    CHECK_BLAS(cublasDdot(handle, size, a, 1, b, 1, &corner));
    CHECK_BLAS(cublasGetMatrixAsync(size, size, sizeof(double), c, size, product.data(), size, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK_BLAS(cublasDestroy(handle));
    CHECK(cudaStreamDestroy(stream));
    for (double* each : {a, b, c})
        CHECK(cudaFree(each));

    double expected = 0, dot = 0;
    for (int k = 0; k < size; ++k) {
        expected += left[static_cast<std::size_t>(k) * size] * right[static_cast<std::size_t>(k) * size];
        dot += left[k] * right[k];
    }
    return example::conclude(n, example::checksum(product.data(), n * sizeof(double)),
                             product[0] == expected && corner == dot);
}
