#include "tests/unit/simcuda/driver_library.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <vector>

BOOST_FIXTURE_TEST_SUITE(sharing, simcuda::DriverFixture)

using namespace simcuda;

// Opening in another process: tests/process/memory_test.cpp.
BOOST_AUTO_TEST_CASE(a_handle_is_refused_in_its_own_process) {
    const CUdeviceptr mine = allocate(4096);
    CUipcMemHandle handle{};
    CUdeviceptr opened = 0;
    DO(cuIpcGetMemHandle, &handle, mine);
    BOOST_TEST(DRIVER(cuIpcOpenMemHandle_v2)(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) ==
               CUDA_ERROR_INVALID_CONTEXT);
    BOOST_TEST(DRIVER(cuIpcOpenMemHandle_v2)(&opened, handle, 0) == CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(DRIVER(cuIpcOpenMemHandle_v2)(&opened, {}, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) ==
               CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(DRIVER(cuIpcCloseMemHandle)(mine) == CUDA_ERROR_INVALID_VALUE);
}

BOOST_AUTO_TEST_CASE(only_plain_device_memory_has_a_handle) {
    CUipcMemHandle handle{};
    CUdeviceptr made = 0;
    DRIVER(cuMemAllocAsync)(&made, 4096, nullptr);
    BOOST_TEST(DRIVER(cuIpcGetMemHandle)(&handle, made) == CUDA_ERROR_INVALID_VALUE);
    DRIVER(cuMemFree_v2)(made);
    BOOST_TEST(DRIVER(cuIpcGetMemHandle)(&handle, allocate_managed(4096)) == CUDA_ERROR_INVALID_VALUE);
}

BOOST_AUTO_TEST_CASE(external_memory_is_the_files) {
    const int file = memfd_create("external", 0);
    BOOST_REQUIRE(ftruncate(file, 65536) == 0);
    const int kept = dup(file);
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC from{.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, .size = 1 << 20};
    from.handle.fd = file;
    CUexternalMemory memory = nullptr;
    BOOST_TEST(DRIVER(cuImportExternalMemory)(&memory, &from) == CUDA_ERROR_INVALID_VALUE); // larger than it is
    from.size = 65536;
    DO(cuImportExternalMemory, &memory, &from);
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC part{.offset = 4096, .size = 4096};
    CUdeviceptr mapped = 0;
    DO(cuExternalMemoryGetMappedBuffer, &mapped, memory, &part);
    DO(cuDestroyExternalMemory, memory);
    BOOST_TEST(DRIVER(cuDestroyExternalMemory)(memory) == CUDA_ERROR_INVALID_HANDLE);
    const int value = 8;
    DO(cuMemcpyHtoD_v2, mapped, &value, sizeof value);
    int seen = 0;
    BOOST_TEST(pread(kept, &seen, sizeof seen, 4096) == 4);
    BOOST_TEST(seen == 8);
    DO(cuMemFree_v2, mapped);
    close(kept);
}

BOOST_AUTO_TEST_CASE(a_context_takes_its_memory_along) {
    CUcontext made = nullptr;
    CUdeviceptr device = 0, pooled = 0;
    void* host = nullptr;
    std::vector<char> registered(1 << 16);
    DO(cuCtxCreate_v2, &made, 0, 0);
    DRIVER(cuMemAlloc_v2)(&device, 4096);
    DRIVER(cuMemHostAlloc)(&host, 4096, 0);
    DRIVER(cuMemHostRegister_v2)(registered.data(), registered.size(), 0);
    DRIVER(cuMemAllocAsync)(&pooled, 4096, nullptr); // of the device
    DO(cuCtxDestroy_v2, made);
    DRIVER(cuCtxSetCurrent)(context);
    BOOST_TEST(DRIVER(cuMemFree_v2)(device) == CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(DRIVER(cuMemFreeHost)(host) == CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(DRIVER(cuMemHostUnregister)(registered.data()) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    DO(cuMemFree_v2, pooled);
}

BOOST_AUTO_TEST_SUITE_END()
