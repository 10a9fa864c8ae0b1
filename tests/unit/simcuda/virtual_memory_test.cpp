#include "tests/unit/simcuda/driver_library.hpp"

#include <unistd.h>

BOOST_AUTO_TEST_SUITE(simcuda_virtual_memory)

using namespace simcuda;

namespace {

constexpr std::size_t piece = 2 << 20;

CUmemAllocationProp on_device() {
    return {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
            .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
            .location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}}};
}

} // namespace

struct AddressFixture : DriverFixture {
    AddressFixture() { DO(cuMemAddressReserve, &base, 8 * piece, 0, 0, 0); }
    CUmemGenericAllocationHandle create(std::size_t bytes = piece) {
        const CUmemAllocationProp wanted = on_device();
        CUmemGenericAllocationHandle handle = 0;
        DO(cuMemCreate, &handle, bytes, &wanted, 0);
        return handle;
    }
    static CUresult open(CUdeviceptr at, std::size_t bytes) {
        const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, {0}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
        return DRIVER(cuMemSetAccess)(at, bytes, &access, 1);
    }
    static CUresult put(CUdeviceptr at, int value) { return DRIVER(cuMemcpyHtoD_v2)(at, &value, sizeof value); }
    static int get(CUdeviceptr at) {
        int value = -1;
        DRIVER(cuMemcpyDtoH_v2)(&value, at, sizeof value);
        return value;
    }
    CUdeviceptr base = 0;
};

namespace {

std::size_t free_memory() {
    std::size_t free = 0;
    DRIVER(cuMemGetInfo_v2)(&free, nullptr);
    return free;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(virtual_memory, AddressFixture)

BOOST_AUTO_TEST_CASE(memory_is_touched_only_between_access_and_unmap) {
    const auto handle = create();
    BOOST_TEST(put(base, 1) == CUDA_ERROR_INVALID_VALUE);
    DO(cuMemMap, base, piece, 0, handle, 0);
    BOOST_TEST(put(base, 1) == CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(open(base, piece) == CUDA_SUCCESS);
    BOOST_TEST(put(base, 1) == CUDA_SUCCESS);
    BOOST_TEST(get(base) == 1);
    DO(cuMemUnmap, base, piece);
    BOOST_TEST(put(base, 1) == CUDA_ERROR_INVALID_VALUE);
    DRIVER(cuMemRelease)(handle);
}

BOOST_AUTO_TEST_CASE(the_bytes_stay_with_the_memory) {
    const auto handle = create(2 * piece);
    DRIVER(cuMemMap)(base, 2 * piece, 0, handle, 0);
    open(base, 2 * piece);
    put(base + piece, 5);
    DRIVER(cuMemUnmap)(base, 2 * piece);
    DRIVER(cuMemMap)(base + 4 * piece, piece, piece, handle, 0); // its upper half
    open(base + 4 * piece, piece);
    BOOST_TEST(get(base + 4 * piece) == 5);
    // The same memory at two places.
    DRIVER(cuMemMap)(base, piece, piece, handle, 0);
    open(base, piece);
    put(base, 6);
    BOOST_TEST(get(base + 4 * piece) == 6);
    DRIVER(cuMemUnmap)(base, piece);
    DRIVER(cuMemUnmap)(base + 4 * piece, piece);
    DRIVER(cuMemRelease)(handle);
}

BOOST_AUTO_TEST_CASE(memory_lives_until_its_last_handle_and_mapping) {
    const std::size_t before = free_memory();
    const auto handle = create();
    BOOST_TEST(free_memory() == before - piece);
    DRIVER(cuMemMap)(base, piece, 0, handle, 0);
    DO(cuMemRelease, handle);
    BOOST_TEST(DRIVER(cuMemRelease)(handle) == CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(free_memory() == before - piece);
    CUmemGenericAllocationHandle again = 0;
    DO(cuMemRetainAllocationHandle, &again, reinterpret_cast<void*>(base + 100));
    BOOST_TEST(again == handle);
    DRIVER(cuMemUnmap)(base, piece);
    BOOST_TEST(free_memory() == before - piece);
    DRIVER(cuMemRelease)(again);
    BOOST_TEST(free_memory() == before);
}

BOOST_AUTO_TEST_CASE(refusals_are_the_documented_ones) {
    const auto handle = create();
    const CUmemAllocationProp wanted = on_device();
    CUmemGenericAllocationHandle odd = 0;
    BOOST_TEST(DRIVER(cuMemCreate)(&odd, 4096, &wanted, 0) == CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(DRIVER(cuMemMap)(base + 4096, piece, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(DRIVER(cuMemMap)(base, 2 * piece, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(DRIVER(cuMemMap)(base + 8 * piece, piece, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
    DO(cuMemMap, base, piece, 0, handle, 0);
    BOOST_TEST(DRIVER(cuMemMap)(base, piece, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(open(base, 2 * piece) == CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(DRIVER(cuMemUnmap)(base, piece / 2) == CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(DRIVER(cuMemFree_v2)(base) == CUDA_ERROR_INVALID_VALUE);
    open(base, piece);
    BOOST_TEST(DRIVER(cuMemFree_v2)(base) == CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(DRIVER(cuMemAddressFree)(base, 8 * piece) == CUDA_ERROR_INVALID_VALUE);
    DRIVER(cuMemUnmap)(base, piece);
    DRIVER(cuMemRelease)(handle);
    BOOST_TEST(DRIVER(cuMemAddressFree)(base, piece) == CUDA_ERROR_INVALID_VALUE);
    DO(cuMemAddressFree, base, 8 * piece);
}

BOOST_AUTO_TEST_CASE(a_descriptor_stands_for_the_memory) {
    const auto handle = create();
    int file = -1;
    CUmemGenericAllocationHandle imported = 0;
    DO(cuMemExportToShareableHandle, &file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    DO(cuMemImportFromShareableHandle, &imported, reinterpret_cast<void*>(static_cast<std::intptr_t>(file)),
       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    close(file);
    DRIVER(cuMemMap)(base, piece, 0, handle, 0);
    DRIVER(cuMemMap)(base + piece, piece, 0, imported, 0);
    open(base, 2 * piece);
    put(base, 9);
    BOOST_TEST(get(base + piece) == 9);
    CUmemAllocationProp made{};
    DO(cuMemGetAllocationPropertiesFromHandle, &made, imported);
    BOOST_TEST(made.location.type == CU_MEM_LOCATION_TYPE_DEVICE);
    DRIVER(cuMemUnmap)(base, 2 * piece);
    DRIVER(cuMemRelease)(handle);
    DRIVER(cuMemRelease)(imported);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
