#include "tests/unit/simcuda/driver_library.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <vector>

BOOST_FIXTURE_TEST_SUITE(memory, simcuda::DriverFixture)

using namespace simcuda;

namespace {
unsigned memory_type(CUdeviceptr address) {
    unsigned type = 0;
    return DRIVER(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == CUDA_SUCCESS
               ? type
               : 0;
}
bool is_managed(CUdeviceptr address) {
    unsigned managed = 0;
    DRIVER(cuPointerGetAttribute)(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address);
    return managed != 0;
}
std::size_t free_memory() {
    std::size_t free = 0, total = 0;
    DRIVER(cuMemGetInfo_v2)(&free, &total);
    return free;
}
} // namespace

BOOST_AUTO_TEST_CASE(allocations_reduce_the_free_memory) {
    const std::size_t before = free_memory();
    const CUdeviceptr made = allocate(64 << 20);
    BOOST_TEST(free_memory() == before - (64 << 20));
    DO(cuMemFree_v2, made);
    BOOST_TEST(free_memory() == before);
}

BOOST_AUTO_TEST_CASE(managed_allocations_do_not) {
    const std::size_t before = free_memory();
    const CUdeviceptr made = allocate_managed(64 << 20);
    BOOST_TEST(free_memory() == before);
    BOOST_TEST(is_managed(made));
}

BOOST_AUTO_TEST_CASE(errors_are_the_real_ones) {
    CUdeviceptr made = 0;
    BOOST_TEST(DRIVER(cuMemAlloc_v2)(&made, 0) == CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(DRIVER(cuMemAllocManaged)(&made, 0, CU_MEM_ATTACH_GLOBAL) == CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(DRIVER(cuMemAlloc_v2)(&made, 100ull << 30) == CUDA_ERROR_OUT_OF_MEMORY);
    BOOST_TEST(DRIVER(cuMemFree_v2)(0x1234) == CUDA_ERROR_INVALID_VALUE);
    DO(cuMemFree_v2, 0);
    const CUdeviceptr once = allocate(512);
    DO(cuMemFree_v2, once);
    BOOST_TEST(DRIVER(cuMemFree_v2)(once) == CUDA_ERROR_INVALID_VALUE);
}

BOOST_AUTO_TEST_CASE(pointer_attributes_tell_the_kinds_apart) {
    const CUdeviceptr device = allocate(4096);
    BOOST_TEST(memory_type(device + 100) == CU_MEMORYTYPE_DEVICE);
    BOOST_TEST(!is_managed(device));
    BOOST_TEST(memory_type(reinterpret_cast<CUdeviceptr>(pin(4096))) == CU_MEMORYTYPE_HOST);
    std::vector<char> heap(1 << 20);
    const auto address = reinterpret_cast<CUdeviceptr>(heap.data());
    unsigned type = 7;
    BOOST_TEST(DRIVER(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) ==
               CUDA_ERROR_INVALID_VALUE);
    DO(cuMemHostRegister_v2, heap.data(), heap.size(), 0);
    BOOST_TEST(memory_type(address) == CU_MEMORYTYPE_HOST);
    BOOST_TEST(DRIVER(cuMemHostRegister_v2)(heap.data(), 10, 0) == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    DO(cuMemHostUnregister, heap.data());
    BOOST_TEST(DRIVER(cuMemHostUnregister)(heap.data()) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    CUdeviceptr base = 0;
    std::size_t bytes = 0;
    DO(cuMemGetAddressRange_v2, &base, &bytes, device + 4095);
    BOOST_TEST(base == device);
    BOOST_TEST(bytes == 4096u);
}

BOOST_AUTO_TEST_CASE(host_access_to_device_memory_crashes) {
    const CUdeviceptr device = allocate(4096);
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        *reinterpret_cast<volatile char*>(device) = 1;
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    BOOST_TEST(WIFSIGNALED(status));
    BOOST_TEST(WTERMSIG(status) == SIGSEGV);
}

BOOST_AUTO_TEST_CASE(asynchronous_free_refuses_managed_memory) {
    CUdeviceptr made = 0;
    DO(cuMemAllocAsync, &made, 4096, nullptr);
    DO(cuMemFreeAsync, made, nullptr);
    BOOST_TEST(DRIVER(cuMemFreeAsync)(allocate_managed(4096), nullptr) == CUDA_ERROR_NOT_SUPPORTED);
}

BOOST_AUTO_TEST_SUITE_END()
