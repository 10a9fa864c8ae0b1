#include "tests/unit/in_threads.hpp"
#include "tests/unit/simcuda/runtime_library.hpp"

#include <cuda.h>

#include <numeric>
#include <vector>

BOOST_AUTO_TEST_SUITE(kernels)

using namespace simcuda;

MANAGED_ARRAY(float, table, 1024);
MANAGED_VARIABLE(int, counter);

namespace {

KERNEL scale(DevicePtr<const float> x, DevicePtr<float> y, float factor, int count) {
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < count;
         i += static_cast<int>(gridDim.x * blockDim.x))
        y[i] = factor * x[i];
}

KERNEL count_up(DevicePtr<int> sum) {
    atomicAdd(sum, static_cast<int>(blockIdx.y * blockDim.z + threadIdx.z));
    sum[1] += 1;
    ++sum[2];
}

KERNEL fill_table() {
    DEVICE_VIEW(table)[threadIdx.x] = static_cast<float>(threadIdx.x);
}
KERNEL work(double operations) {
    COMPUTE(operations);
}
KERNEL read_one(DevicePtr<const int> pointer, DevicePtr<int> result) {
    result[0] = pointer[0];
}

std::uint64_t run_time(double operations) {
    const auto before = now();
    LAUNCH(work, 1, 1, nullptr, operations);
    CHECK_CUDA(cudaDeviceSynchronize());
    return now() - before;
}

} // namespace

BOOST_AUTO_TEST_CASE(compute_on_device_memory) {
    constexpr int count = 100'000;
    std::vector<float> host(count);
    std::iota(host.begin(), host.end(), 0.0f);
    float* x = nullptr;
    float* y = nullptr;
    CHECK_CUDA(cudaMalloc(&x, count * sizeof *x));
    CHECK_CUDA(cudaMalloc(&y, count * sizeof *y));
    CHECK_CUDA(cudaMemcpy(x, host.data(), count * sizeof *x, cudaMemcpyHostToDevice));
    LAUNCH(scale, 32, dim3(128), nullptr, x, y, 3.0f, count);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaMemcpy(host.data(), y, count * sizeof *y, cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; ++i)
        BOOST_REQUIRE(host[static_cast<std::size_t>(i)] == 3.0f * static_cast<float>(i));
    CHECK_CUDA(cudaFree(x));
    CHECK_CUDA(cudaFree(y));
}

BOOST_AUTO_TEST_CASE(threads_have_their_places) {
    int* sum = nullptr;
    CHECK_CUDA(cudaMallocManaged(&sum, 3 * sizeof *sum));
    LAUNCH(count_up, dim3(1, 3), dim3(1, 1, 4), nullptr, sum);
    CHECK_CUDA(cudaDeviceSynchronize());
    BOOST_TEST(sum[0] == 66);
    BOOST_TEST(sum[1] == 12);
    BOOST_TEST(sum[2] == 12);
    CHECK_CUDA(cudaFree(sum));
}

BOOST_AUTO_TEST_CASE(names_and_parameters_reach_the_driver) {
    if (variant() == "old") {
        BOOST_TEST(calls("cuLibraryGetKernel") == 0u);
        BOOST_TEST(calls("cuModuleGetFunction") > 0u);
        return;
    }
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    auto* load = driver_symbol<decltype(cuLibraryLoadData)>("cuLibraryLoadData");
    auto* find = driver_symbol<decltype(cuLibraryGetKernel)>("cuLibraryGetKernel");
    auto* parameter = driver_symbol<decltype(cuKernelGetParamInfo)>("cuKernelGetParamInfo");
    BOOST_REQUIRE(load(&library, &translation_unit, nullptr, nullptr, 0, nullptr, nullptr, 0) == CUDA_SUCCESS);
    LAUNCH(scale, 1, 1, nullptr, nullptr, nullptr, 1.0f, 0);
    BOOST_REQUIRE(find(&kernel, library, "_Z5scalePKfPffi") == CUDA_SUCCESS);
    const std::size_t offsets[] = {0, 8, 16, 20};
    const std::size_t sizes[] = {8, 8, 4, 4};
    for (std::size_t index = 0; index < 4; ++index) {
        std::size_t offset = 99;
        std::size_t bytes = 99;
        BOOST_TEST(parameter(kernel, index, &offset, &bytes) == CUDA_SUCCESS);
        BOOST_TEST(offset == offsets[index]);
        BOOST_TEST(bytes == sizes[index]);
    }
    std::size_t offset = 0;
    BOOST_TEST(parameter(kernel, 4, &offset, nullptr) == CUDA_ERROR_INVALID_VALUE);
    driver_symbol<decltype(cuLibraryUnload)>("cuLibraryUnload")(library);
}

BOOST_AUTO_TEST_CASE(managed_variables_are_shared) {
    counter = 7;
    table[5] = -1;
    LAUNCH(fill_table, 1, 1024, nullptr);
    CHECK_CUDA(cudaDeviceSynchronize());
    BOOST_TEST(table[5] == 5.0f);
    BOOST_TEST(table[1023] == 1023.0f);
    BOOST_TEST(int(counter) == 7);
    cudaPointerAttributes attributes;
    CHECK_CUDA(cudaPointerGetAttributes(&attributes, table.data()));
    BOOST_TEST(attributes.type == cudaMemoryTypeManaged);
    BOOST_TEST(calls(variant() == "old" ? "cuModuleGetGlobal_v2" : "cuLibraryGetManaged") == 2u);
}

BOOST_AUTO_TEST_CASE(arithmetic_takes_time) {
    run_time(0);
    const auto little = run_time(0);
    const auto much = run_time(33e9);
    BOOST_TEST(much > little + 900'000);
    BOOST_TEST(much < little + 1'100'000);
}

BOOST_AUTO_TEST_CASE(pinned_memory_is_reached_in_place) {
    int* host = nullptr;
    int* result = nullptr;
    CHECK_CUDA(cudaMallocHost(&host, sizeof *host));
    CHECK_CUDA(cudaMalloc(&result, sizeof *result));
    *host = 17;
    LAUNCH(read_one, 1, 1, nullptr, host, result);
    CHECK_CUDA(cudaMemcpy(host, result, sizeof *host, cudaMemcpyDeviceToHost));
    BOOST_TEST(*host == 17);
    CHECK_CUDA(cudaFreeHost(host));
    CHECK_CUDA(cudaFree(result));
}

BOOST_AUTO_TEST_CASE(several_threads_launch_at_once) {
    std::vector<int> sums(4);
    umadvisor::test::in_threads(sums.size(), [&](std::size_t index) {
        int* memory = nullptr;
        cudaMallocManaged(&memory, 3 * sizeof *memory);
        memory[1] = 0;
        for (int round = 0; round < 200; ++round)
            LAUNCH(count_up, 1, 4, cudaStreamPerThread, memory);
        cudaStreamSynchronize(cudaStreamPerThread);
        sums[index] = memory[1];
        cudaFree(memory);
    });
    for (const int sum : sums)
        BOOST_TEST(sum == 800);
}

BOOST_AUTO_TEST_SUITE_END()
