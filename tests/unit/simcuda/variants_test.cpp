// What sets each variant of the driver apart, seen through its own exports.
#include "tests/unit/simcuda/variant.hpp"

BOOST_AUTO_TEST_SUITE(variants)

BOOST_AUTO_TEST_CASE(the_old_driver_lacks_what_came_later) {
    const Variant old("simcuda-old");
    int version = 0;
    BOOST_TEST(CALL(old, cuDriverGetVersion, &version) == CUDA_SUCCESS);
    BOOST_TEST(version == 11040);
    for (const char* symbol : {"cuGetProcAddress_v2", "cuLaunchKernelEx", "cuFuncGetParamInfo",
                               "cuMemAdvise_v2", "cuMemPrefetchAsync_v2", "cuLibraryLoadData"})
        BOOST_TEST(old.find(symbol) == nullptr, symbol);
    BOOST_TEST(old.find("cuMemAdvise") != nullptr);
    void* answer = nullptr;
    BOOST_TEST(CALL(old, cuGetProcAddress, "cuMemAdvise", &answer, 8000, cuuint64_t{0}) == CUDA_SUCCESS);
    BOOST_TEST(answer == old.find("cuMemAdvise"));
    BOOST_TEST(CALL(old, cuGetProcAddress, "cuMemAdvise", &answer, 12020, cuuint64_t{0}) ==
               CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(CALL(old, cuGetProcAddress, "cuLaunchKernelEx", &answer, 11040, cuuint64_t{0}) ==
               CUDA_ERROR_NOT_FOUND);
}

BOOST_AUTO_TEST_CASE(the_odd_driver_answers_with_what_it_does_not_export) {
    const Variant odd("simcuda-odd");
    const Variant plain("simcuda");
    for (const Variant* variant : {&odd, &plain}) {
        void* answer = nullptr;
        CALL((*variant), cuGetProcAddress_v2, "cuMemAlloc", &answer, 12000, cuuint64_t{0}, nullptr);
        BOOST_TEST(answer != nullptr);
        BOOST_TEST((answer == variant->find("cuMemAlloc_v2")) == (variant == &plain));
    }
}

BOOST_AUTO_TEST_CASE(two_devices_and_no_concurrent_access) {
    const Variant two("simcuda-2dev");
    int count = 0;
    BOOST_TEST(CALL(two, cuInit, 0u) == CUDA_SUCCESS);
    BOOST_TEST(CALL(two, cuDeviceGetCount, &count) == CUDA_SUCCESS);
    BOOST_TEST(count == 2);
    const Variant without("simcuda-nocma");
    int concurrent = 7;
    BOOST_TEST(CALL(without, cuInit, 0u) == CUDA_SUCCESS);
    BOOST_TEST(CALL(without, cuDeviceGetAttribute, &concurrent, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
                    0) == CUDA_SUCCESS);
    BOOST_TEST(concurrent == 0);
}

BOOST_AUTO_TEST_SUITE_END()
