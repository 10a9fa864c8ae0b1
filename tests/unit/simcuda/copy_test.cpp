#include "tests/unit/simcuda/driver_library.hpp"

#include <numeric>
#include <vector>

BOOST_AUTO_TEST_SUITE(simcuda_copy)

using namespace simcuda;

namespace {
constexpr std::size_t size = 16 << 20;

CopyTotal total(CopyDirection way, MemoryClass from, MemoryClass to) {
    return control().copies[way][from][to];
}

} // namespace

struct CopyFixture : DriverFixture {
    CopyFixture() : heap(size) { std::iota(heap.begin(), heap.end(), 0); }
    std::vector<unsigned char> heap;
    const CUdeviceptr device = allocate(size);
    void* const pinned = pin(size);
};

namespace {

/// What the call adds to the clock, in nanoseconds.
template <class Call>
std::uint64_t priced(Call call) {
    const auto before = now();
    BOOST_TEST(call() == CUDA_SUCCESS);
    return now() - before;
}
} // namespace

BOOST_FIXTURE_TEST_SUITE(copies, CopyFixture)

BOOST_AUTO_TEST_CASE(bring_the_data_and_are_counted) {
    const auto there = total(host_to_device, pageable, device_memory);
    const auto back = total(device_to_host, device_memory, pageable);
    DO(cuMemcpyHtoD_v2, device, heap.data(), size);
    std::vector<unsigned char> copy(size);
    DO(cuMemcpyDtoH_v2, copy.data(), device, size);
    BOOST_TEST((copy == heap));
    BOOST_TEST(total(host_to_device, pageable, device_memory).calls == there.calls + 1);
    BOOST_TEST(total(host_to_device, pageable, device_memory).bytes == there.bytes + size);
    BOOST_TEST(total(device_to_host, device_memory, pageable).bytes == back.bytes + size);
}

BOOST_AUTO_TEST_CASE(directions_follow_the_addresses_where_the_call_does_not_say) {
    const auto before = total(host_to_device, simcuda::pinned, device_memory).calls;
    DO(cuMemcpy, device, reinterpret_cast<CUdeviceptr>(pinned), size);
    BOOST_TEST(total(host_to_device, simcuda::pinned, device_memory).calls == before + 1);
}

BOOST_AUTO_TEST_CASE(pageable_is_slow_and_pinned_is_fast) {
    const auto slow = priced([&] { return DRIVER(cuMemcpyHtoD_v2)(device, heap.data(), size); });
    const auto fast = priced([&] { return DRIVER(cuMemcpyHtoD_v2)(device, pinned, size); });
    BOOST_TEST(slow > 4 * fast);
    BOOST_TEST(slow < 7 * fast);
}

BOOST_AUTO_TEST_CASE(pageable_asynchronous_is_synchronous) {
    const CUstream stream = make_stream();
    const auto pageable_call =
        priced([&] { return DRIVER(cuMemcpyHtoDAsync_v2)(device, heap.data(), size, stream); });
    const auto pinned_call = priced([&] { return DRIVER(cuMemcpyHtoDAsync_v2)(device, pinned, size, stream); });
    BOOST_TEST(pageable_call > 1'000'000u);
    BOOST_TEST(pinned_call < 10'000u);
    BOOST_TEST(DRIVER(cuStreamQuery)(stream) == CUDA_ERROR_NOT_READY);
    const auto wait = priced([&] { return DRIVER(cuStreamSynchronize)(stream); });
    BOOST_TEST(wait > 200'000u);
}

BOOST_AUTO_TEST_CASE(wrong_ends_are_refused) {
    BOOST_TEST(DRIVER(cuMemcpyHtoD_v2)(device + 1, heap.data(), size) == CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(DRIVER(cuMemcpyHtoD_v2)(reinterpret_cast<CUdeviceptr>(heap.data()), heap.data(), 16) ==
               CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(DRIVER(cuMemcpyDtoH_v2)(heap.data(), device + size, 1) == CUDA_ERROR_INVALID_VALUE);
}

BOOST_AUTO_TEST_CASE(memset_fills) {
    DO(cuMemsetD8_v2, device, 0x5a, size);
    DO(cuMemsetD32_v2, device, 0x01020304, 1);
    std::vector<unsigned char> copy(8);
    DRIVER(cuMemcpyDtoH_v2)(copy.data(), device, copy.size());
    BOOST_TEST((copy == std::vector<unsigned char>{4, 3, 2, 1, 0x5a, 0x5a, 0x5a, 0x5a}));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
