// Runs against the static and the shared runtime and against every driver variant.
#include "tests/unit/simcuda/runtime_library.hpp"

#include <algorithm>
#include <vector>

BOOST_AUTO_TEST_SUITE(runtime)

using namespace simcuda;

BOOST_AUTO_TEST_CASE(starts_by_looking_up_its_entry_points) {
    CHECK_CUDA(cudaFree(nullptr));
    const bool old = variant() == "old";
    BOOST_TEST((calls("cuGetProcAddress_v2") > 100) == !old);
    BOOST_TEST((calls("cuGetProcAddress") > 50) == old);
    BOOST_TEST(calls("cuInit") == 1u);
    BOOST_TEST(calls("cuGetExportTable") == 1u);
    int version = 0;
    CHECK_CUDA(cudaDriverGetVersion(&version));
    BOOST_TEST(version == (old ? 11040 : 13000));
}

BOOST_AUTO_TEST_CASE(tells_the_device) {
    int count = 0;
    CHECK_CUDA(cudaGetDeviceCount(&count));
    BOOST_TEST(count == (variant() == "2dev" ? 2 : 1));
    cudaDeviceProp properties;
    CHECK_CUDA(cudaGetDeviceProperties(&properties, 0));
    BOOST_TEST(std::string(properties.name) == "simcuda H200 model");
    BOOST_TEST(properties.totalGlobalMem == 8ull << 30);
    BOOST_TEST(properties.concurrentManagedAccess == (variant() == "nocma" ? 0 : 1));
    BOOST_TEST(cudaSetDevice(count) == cudaErrorInvalidDevice);
    BOOST_TEST(cudaGetLastError() == cudaErrorInvalidDevice);
    BOOST_TEST(cudaGetLastError() == cudaSuccess);
}

BOOST_AUTO_TEST_CASE(copies_arrive_at_the_driver_as_they_do_in_the_real_one) {
    constexpr std::size_t size = 1 << 20;
    std::vector<char> host(size, 3);
    char* device = nullptr;
    CHECK_CUDA(cudaMalloc(&device, size));
    BOOST_TEST(calls("cuMemAlloc_v2") > 0u);
    const auto before = [](const char* name) { return calls(name); };
    const auto up = before("cuMemcpyHtoD_v2");
    const auto down = before("cuMemcpyDtoHAsync_v2");
    const auto any = before("cuMemcpy");
    CHECK_CUDA(cudaMemcpy(device, host.data(), size, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpyAsync(host.data(), device, size, cudaMemcpyDeviceToHost, nullptr));
    CHECK_CUDA(cudaMemcpy(device, host.data(), size, cudaMemcpyDefault));
    BOOST_TEST(calls("cuMemcpyHtoD_v2") == up + 1);
    BOOST_TEST(calls("cuMemcpyDtoHAsync_v2") == down + 1);
    BOOST_TEST(calls("cuMemcpy") == any + 1);
    CHECK_CUDA(cudaFree(device));
}

BOOST_AUTO_TEST_CASE(rows_go_over_and_come_back) {
    void* device = nullptr;
    std::size_t pitch = 0;
    CHECK_CUDA(cudaMallocPitch(&device, &pitch, 100, 8));
    std::vector<char> from(120 * 8), back(100 * 8);
    for (std::size_t i = 0; i < from.size(); ++i)
        from[i] = static_cast<char>(i * 3);
    const auto unaligned = calls("cuMemcpy2DUnaligned_v2");
    CHECK_CUDA(cudaMemcpy2D(device, pitch, from.data(), 120, 100, 8, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpy2DAsync(back.data(), 100, device, pitch, 100, 8, cudaMemcpyDefault, nullptr));
    CHECK_CUDA(cudaDeviceSynchronize());
    BOOST_TEST(calls("cuMemcpy2DUnaligned_v2") == unaligned + 1);
    for (std::size_t row = 0; row < 8; ++row)
        BOOST_TEST(
            std::equal(back.begin() + row * 100, back.begin() + row * 100 + 100, from.begin() + row * 120));
    BOOST_TEST(cudaMemcpy2D(device, 90, from.data(), 120, 100, 8, cudaMemcpyHostToDevice) ==
               cudaErrorInvalidValue);
    CHECK_CUDA(cudaFree(device));
}

BOOST_AUTO_TEST_CASE(pointer_attributes_by_kind) {
    int on_heap = 0;
    cudaPointerAttributes attributes;
    CHECK_CUDA(cudaPointerGetAttributes(&attributes, &on_heap));
    BOOST_TEST(attributes.type == cudaMemoryTypeUnregistered);
    int* managed = nullptr;
    CHECK_CUDA(cudaMallocManaged(&managed, 4096));
    CHECK_CUDA(cudaPointerGetAttributes(&attributes, managed));
    BOOST_TEST(attributes.type == cudaMemoryTypeManaged);
    BOOST_TEST(attributes.hostPointer == managed);
    CHECK_CUDA(cudaFree(managed));
    int* pinned_memory = nullptr;
    CHECK_CUDA(cudaMallocHost(&pinned_memory, 4096));
    CHECK_CUDA(cudaPointerGetAttributes(&attributes, pinned_memory));
    BOOST_TEST(attributes.type == cudaMemoryTypeHost);
    CHECK_CUDA(cudaFreeHost(pinned_memory));
}

BOOST_AUTO_TEST_CASE(placement_is_refused_without_concurrent_access) {
    int* managed = nullptr;
    CHECK_CUDA(cudaMallocManaged(&managed, 4 << 20));
    const cudaMemLocation device{cudaMemLocationTypeDevice, {0}};
    const cudaError_t expected = variant() == "nocma" ? cudaErrorInvalidDevice : cudaSuccess;
    BOOST_TEST(cudaMemPrefetchAsync(managed, 4 << 20, device, 0, nullptr) == expected);
    BOOST_TEST(cudaMemAdvise(managed, 4 << 20, cudaMemAdviseSetPreferredLocation, device) == expected);
    cudaGetLastError();
    CHECK_CUDA(cudaFree(managed));
}

BOOST_AUTO_TEST_CASE(an_empty_allocation_is_nothing) {
    int* nothing = reinterpret_cast<int*>(1);
    CHECK_CUDA(cudaMalloc(&nothing, 0));
    BOOST_TEST(nothing == nullptr);
    CHECK_CUDA(cudaFree(nothing));
}

BOOST_AUTO_TEST_SUITE_END()
