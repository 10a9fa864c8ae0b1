#include "tests/unit/simcuda/driver_library.hpp"

#include <string>
BOOST_AUTO_TEST_SUITE(lookup)

using namespace simcuda;

namespace {
/// The name of the exported symbol that cuGetProcAddress_v2 answers with.
std::string ask(const char* base, int version, cuuint64_t flags = 0) {
    void* answer = nullptr;
    DRIVER(cuGetProcAddress_v2)(base, &answer, version, flags, nullptr);
    Dl_info info{};
    return answer && dladdr(answer, &info) && info.dli_sname ? info.dli_sname : "";
}
} // namespace

BOOST_AUTO_TEST_CASE(answers_are_the_exported_symbols) {
    BOOST_TEST(ask("cuMemAlloc", 3020) == "cuMemAlloc_v2");
    BOOST_TEST(ask("cuMemAllocManaged", 6000) == "cuMemAllocManaged");
    BOOST_TEST(ask("cuMemcpyHtoDAsync", 3020) == "cuMemcpyHtoDAsync_v2");
}

BOOST_AUTO_TEST_CASE(one_name_has_two_abis) {
    BOOST_TEST(ask("cuMemAdvise", 8000) == "cuMemAdvise");
    BOOST_TEST(ask("cuMemAdvise", 12020) == "cuMemAdvise_v2");
    BOOST_TEST(ask("cuMemPrefetchAsync", 8000, 2) == "cuMemPrefetchAsync_ptsz");
    BOOST_TEST(ask("cuMemPrefetchAsync", 12020, 2) == "cuMemPrefetchAsync_v2_ptsz");
    BOOST_TEST(ask("cuGetProcAddress", 11030) == "cuGetProcAddress");
    BOOST_TEST(ask("cuGetProcAddress", 12000) == "cuGetProcAddress_v2");
    BOOST_TEST(ask("cuCtxSynchronize", 2000) == "cuCtxSynchronize");
    BOOST_TEST(ask("cuCtxSynchronize", 13000) == "cuCtxSynchronize_v2");
}

BOOST_AUTO_TEST_CASE(per_thread_forms_are_found_by_flag) {
    BOOST_TEST(ask("cuLaunchKernel", 7000, 2) == "cuLaunchKernel_ptsz");
    BOOST_TEST(ask("cuMemcpyHtoD", 7000, 2) == "cuMemcpyHtoD_v2_ptds");
    BOOST_TEST(ask("cuInit", 2000, 2) == "cuInit");
    BOOST_TEST(ask("cuMemcpyHtoD", 6050, 2).empty());
}

BOOST_AUTO_TEST_CASE(null_arguments_and_the_empty_probe_are_survived) {
    const auto get = DRIVER(cuGetProcAddress_v2);
    void* answer = &answer;
    BOOST_TEST(get("", &answer, 0, 0, nullptr) == CUDA_SUCCESS);
    BOOST_TEST(answer == nullptr);
    BOOST_TEST(get("", nullptr, 0, 0, nullptr) == CUDA_SUCCESS);
    CUdriverProcAddressQueryResult status{};
    BOOST_TEST(get("cuNothing", nullptr, 12000, 0, &status) == CUDA_SUCCESS);
    BOOST_TEST(status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    BOOST_TEST(get("cuInit", &answer, 99000, 0, nullptr) == CUDA_ERROR_INVALID_VALUE);
}

BOOST_AUTO_TEST_SUITE_END()
