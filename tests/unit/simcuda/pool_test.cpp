#include "tests/unit/simcuda/driver_library.hpp"

#include <vector>

BOOST_FIXTURE_TEST_SUITE(pools, simcuda::DriverFixture)

using namespace simcuda;

namespace {

CUmemoryPool make_pool(CUmemAllocationType type, CUmemLocation location) {
    CUmemPoolProps wanted{.allocType = type, .location = location};
    CUmemoryPool pool = nullptr;
    DO(cuMemPoolCreate, &pool, &wanted);
    return pool;
}

const CUmemLocation device{CU_MEM_LOCATION_TYPE_DEVICE, {0}};

cuuint64_t attribute(CUmemoryPool pool, CUmemPool_attribute which) {
    cuuint64_t value = 0;
    DO(cuMemPoolGetAttribute, pool, which, &value);
    return value;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_default_pool_is_current_until_another_is_set) {
    CUmemoryPool by_default = nullptr, current = nullptr;
    DO(cuDeviceGetDefaultMemPool, &by_default, 0);
    DRIVER(cuDeviceGetMemPool)(&current, 0);
    BOOST_TEST(current == by_default);
    const CUmemoryPool mine = make_pool(CU_MEM_ALLOCATION_TYPE_PINNED, device);
    DO(cuDeviceSetMemPool, 0, mine);
    DRIVER(cuDeviceGetMemPool)(&current, 0);
    BOOST_TEST(current == mine);
    BOOST_TEST(DRIVER(cuMemPoolDestroy)(by_default) == CUDA_ERROR_INVALID_VALUE);
    DO(cuMemPoolDestroy, mine);
    DRIVER(cuDeviceGetMemPool)(&current, 0);
    BOOST_TEST(current == by_default);
    BOOST_TEST(DRIVER(cuDeviceGetDefaultMemPool)(&current, 7) == CUDA_ERROR_INVALID_DEVICE);
}

BOOST_AUTO_TEST_CASE(a_pool_keeps_freed_memory_up_to_its_threshold) {
    constexpr std::size_t mib = 1u << 20;
    const CUmemoryPool pool = make_pool(CU_MEM_ALLOCATION_TYPE_PINNED, device);
    const auto reserved_after_a_wait = [&] {
        CUdeviceptr memory = 0;
        DO(cuMemAllocFromPoolAsync, &memory, 8 * mib, pool, nullptr);
        DO(cuMemFreeAsync, memory, nullptr);
        BOOST_TEST(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 8 * mib);
        DO(cuStreamSynchronize, nullptr);
        return attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
    };
    BOOST_TEST(reserved_after_a_wait() == 0u);
    cuuint64_t threshold = 16 * mib;
    DO(cuMemPoolSetAttribute, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
    std::size_t before = 0, after = 0, total = 0;
    DO(cuMemGetInfo_v2, &before, &total);
    BOOST_TEST(reserved_after_a_wait() == 8 * mib);
    DO(cuMemGetInfo_v2, &after, &total);
    BOOST_TEST(before - after == 8 * mib);
    DO(cuMemPoolTrimTo, pool, mib);
    BOOST_TEST(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == mib);
}

BOOST_AUTO_TEST_CASE(a_pool_knows_what_is_used) {
    const CUmemoryPool pool = make_pool(CU_MEM_ALLOCATION_TYPE_PINNED, device);
    CUdeviceptr first = 0, second = 0;
    DRIVER(cuMemAllocFromPoolAsync)(&first, 4096, pool, nullptr);
    DRIVER(cuMemAllocFromPoolAsync)(&second, 8192, pool, nullptr);
    BOOST_TEST(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 12288u);
    DO(cuMemFreeAsync, first, nullptr);
    DO(cuMemFree_v2, second);
    BOOST_TEST(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0u);
    BOOST_TEST(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 12288u);
    cuuint64_t threshold = 77;
    DRIVER(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
    BOOST_TEST(attribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) == 77u);
    DRIVER(cuMemPoolDestroy)(pool);
    BOOST_TEST(DRIVER(cuMemAllocFromPoolAsync)(&first, 4096, pool, nullptr) == CUDA_ERROR_INVALID_VALUE);
}

BOOST_AUTO_TEST_CASE(managed_and_host_pools_give_such_memory) {
    const CUmemoryPool managed = make_pool(CU_MEM_ALLOCATION_TYPE_MANAGED, device);
    const CUmemoryPool host = make_pool(CU_MEM_ALLOCATION_TYPE_PINNED, {CU_MEM_LOCATION_TYPE_HOST_NUMA, {0}});
    for (const CUmemoryPool pool : {managed, host}) {
        CUdeviceptr made = 0;
        DO(cuMemAllocFromPoolAsync, &made, 4096, pool, nullptr);
        unsigned is_managed = 0;
        DRIVER(cuPointerGetAttribute)(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, made);
        BOOST_TEST((is_managed != 0) == (pool == managed));
        *reinterpret_cast<volatile int*>(made) = 4; // the host may touch either
        DO(cuMemFreeAsync, made, nullptr);
        DRIVER(cuMemPoolDestroy)(pool);
    }
}

BOOST_AUTO_TEST_CASE(no_bytes_are_at_the_null_address) {
    CUmemoryPool by_default = nullptr;
    DRIVER(cuDeviceGetDefaultMemPool)(&by_default, 0);
    CUdeviceptr made = 7;
    DO(cuMemAllocFromPoolAsync, &made, 0, by_default, nullptr);
    BOOST_TEST(made == 0u);
    made = 7;
    DO(cuMemAllocAsync, &made, 0, nullptr);
    BOOST_TEST(made == 0u);
}

BOOST_AUTO_TEST_CASE(a_handle_comes_back_once_nothing_of_its_pool_is_left) {
    const CUmemoryPool first = make_pool(CU_MEM_ALLOCATION_TYPE_MANAGED, device);
    CUdeviceptr made = 0;
    DO(cuMemAllocFromPoolAsync, &made, 4096, first, nullptr);
    DO(cuMemPoolDestroy, first);
    std::vector<CUmemoryPool> others; // which take what earlier tests have left
    const auto comes_back = [&] {
        for (int i = 0; i < 64; ++i)
            if (others.emplace_back(make_pool(CU_MEM_ALLOCATION_TYPE_PINNED, device)) == first)
                return true;
        return false;
    };
    BOOST_TEST(!comes_back());
    DO(cuMemFreeAsync, made, nullptr);
    BOOST_TEST(comes_back());
    BOOST_TEST(attribute(first, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0u);
    for (const CUmemoryPool pool : others)
        DRIVER(cuMemPoolDestroy)(pool);
}

BOOST_AUTO_TEST_SUITE_END()
