#include "tests/unit/simcuda/driver_library.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>

BOOST_AUTO_TEST_SUITE(driver)

using namespace simcuda;

BOOST_AUTO_TEST_CASE(every_symbol_of_the_list_is_exported) {
    for (const char* name : {
#define API_UNDECLARED(symbol)
#define API_NEWER(symbol, version, handling)
#define API(symbol, handling) #symbol,
#include "interposer/driver_api.def"
         }) {
        BOOST_TEST(dlsym(library(), name) != nullptr, name);
    }
}

BOOST_FIXTURE_TEST_CASE(device_tells_what_it_is, DriverFixture) {
    char name[64];
    DO(cuDeviceGetName, name, sizeof name, 0);
    BOOST_TEST(std::string(name) == "simcuda H200 model");
    int value = 0;
    DRIVER(cuDeviceGetAttribute)(&value, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 0);
    BOOST_TEST(value == 1);
    DRIVER(cuDeviceGetAttribute)(&value, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0);
    BOOST_TEST(value == 0);
    DRIVER(cuDriverGetVersion)(&value);
    BOOST_TEST(value == 13000);
    CUdevice device = 0;
    BOOST_TEST(DRIVER(cuDeviceGet)(&device, 1) == CUDA_ERROR_INVALID_DEVICE);
}

BOOST_FIXTURE_TEST_CASE(unimplemented_entry_points_say_so, DriverFixture) {
    const auto before = control().unsupported_calls;
    BOOST_TEST(DRIVER(cuGraphDebugDotPrint)(nullptr, nullptr, 0) == CUDA_ERROR_NOT_SUPPORTED);
    BOOST_TEST(control().unsupported_calls == before + 1);
}

BOOST_FIXTURE_TEST_CASE(a_set_failure_hits_the_nth_call, DriverFixture) {
    Failure& failure = control().failures[0];
    failure.nth = 2;
    failure.result = CUDA_ERROR_OUT_OF_MEMORY;
    std::strcpy(failure.entry, "cuMemAlloc_v2");
    CUdeviceptr first = 0;
    CUdeviceptr second = 0;
    DO(cuMemAlloc_v2, &first, 512);
    BOOST_TEST(DRIVER(cuMemAlloc_v2)(&second, 512) == CUDA_ERROR_OUT_OF_MEMORY);
    DO(cuMemAlloc_v2, &second, 512);
    DRIVER(cuMemFree_v2)(first);
    DRIVER(cuMemFree_v2)(second);
}

BOOST_FIXTURE_TEST_CASE(calls_are_counted_by_entry_point, DriverFixture) {
    const auto calls = DRIVER(simcuda_calls);
    const auto before = calls("cuCtxSynchronize");
    DRIVER(cuCtxSynchronize)();
    BOOST_TEST(calls("cuCtxSynchronize") == before + 1);
    BOOST_TEST(calls("cuNoSuchThing") == 0u);
}

BOOST_FIXTURE_TEST_CASE(the_clock_moves_with_calls_only, DriverFixture) {
    const auto before = now();
    usleep(1000);
    BOOST_TEST(now() == before);
    DRIVER(cuCtxSynchronize)();
    BOOST_TEST(now() > before);
}

BOOST_FIXTURE_TEST_CASE(a_forked_child_is_refused, DriverFixture) {
    const pid_t child = fork();
    if (child == 0) {
        std::size_t free = 0;
        std::size_t total = 0;
        _exit(DRIVER(cuMemGetInfo_v2)(&free, &total) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    BOOST_TEST(WIFEXITED(status));
    BOOST_TEST(WEXITSTATUS(status) == 0);
}

BOOST_FIXTURE_TEST_CASE(a_thread_without_a_context_is_told, DriverFixture) {
    DRIVER(cuCtxSetCurrent)(nullptr);
    CUdeviceptr made = 0;
    BOOST_TEST(DRIVER(cuMemAlloc_v2)(&made, 512) == CUDA_ERROR_INVALID_CONTEXT);
    DRIVER(cuCtxSetCurrent)(context);
}

BOOST_AUTO_TEST_SUITE_END()
