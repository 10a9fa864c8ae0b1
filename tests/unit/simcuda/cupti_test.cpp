// simcuda's CUPTI: one seat, and records that add up to what simcuda counts.
#include "residency/cupti_interface.hpp"
#include "tests/unit/simcuda/runtime_library.hpp"

#include <vector>

using namespace simcuda;

namespace {

namespace cupti = umadvisor::residency::cupti;

constexpr std::size_t bytes = 4 << 20;
constexpr std::size_t buffer_bytes = 1 << 16;

std::vector<cupti::CounterRecord> told;

template <class Function>
Function* cupti_symbol(const char* name) {
    void* library = dlopen("libcupti.so.13", RTLD_NOW);
    BOOST_REQUIRE(library);
    void* found = dlsym(library, name);
    BOOST_REQUIRE(found);
    return reinterpret_cast<Function*>(found);
}

void give(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
    *buffer = static_cast<std::uint8_t*>(std::malloc(buffer_bytes));
    *size = buffer_bytes;
    *most = 0;
}

void take(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
    auto* next = cupti_symbol<int(std::uint8_t*, std::size_t, void**)>("cuptiActivityGetNextRecord");
    void* record = nullptr;
    while (next(buffer, valid, &record) == cupti::success)
        told.push_back(*static_cast<cupti::CounterRecord*>(record));
    std::free(buffer);
}

void ignore(void*, std::uint32_t, std::uint32_t, const void*) {}

std::uint64_t sum(cupti::CounterKind kind) {
    std::uint64_t all = 0;
    for (const cupti::CounterRecord& record : told)
        all += record.counter_kind == kind ? record.value : 0;
    return all;
}

std::uint64_t count(cupti::CounterKind kind) {
    std::uint64_t all = 0;
    for (const cupti::CounterRecord& record : told)
        all += record.counter_kind == kind;
    return all;
}

KERNEL write_all(DevicePtr<int> values, int number) {
    for (int i = 0; i < number; ++i)
        values[i] = i;
}

} // namespace

BOOST_AUTO_TEST_SUITE(cupti_counters)

BOOST_AUTO_TEST_CASE(one_subscriber_a_process) {
    auto* subscribe = cupti_symbol<int(void**, cupti::Callback, void*)>("cuptiSubscribe");
    auto* unsubscribe = cupti_symbol<int(void*)>("cuptiUnsubscribe");
    void *first = nullptr, *second = nullptr;
    BOOST_TEST(subscribe(&first, ignore, nullptr) == cupti::success);
    BOOST_TEST(subscribe(&second, ignore, nullptr) == cupti::multiple_subscribers_not_supported);
    BOOST_TEST(unsubscribe(second) == cupti::invalid_parameter);
    BOOST_TEST(unsubscribe(first) == cupti::success);
    BOOST_TEST(subscribe(&second, ignore, nullptr) == cupti::success);
    BOOST_TEST(unsubscribe(second) == cupti::success);
}

BOOST_AUTO_TEST_CASE(records_add_up_to_what_simcuda_counts) {
    int* values = nullptr;
    CHECK_CUDA(cudaMallocManaged(&values, bytes));
    told.clear();
    cupti_symbol<int(cupti::BufferRequested, cupti::BufferCompleted)>("cuptiActivityRegisterCallbacks")(give,
                                                                                                        take);
    BOOST_TEST(cupti_symbol<int(std::uint32_t)>("cuptiActivityEnable")(cupti::unified_memory_counter) ==
               cupti::success);
    const Control before = control();
    const std::uint64_t begin = now();
    values[0] = 1;
    LAUNCH(write_all, 1, 1, nullptr, values, static_cast<int>(bytes / sizeof(int)));
    CHECK_CUDA(cudaDeviceSynchronize());
    for (std::size_t i = 0; i < bytes / sizeof(int); i += 1024)
        values[i] += 1;
    BOOST_TEST(told.empty());
    BOOST_TEST(cupti_symbol<int(std::uint32_t)>("cuptiActivityFlushAll")(0) == cupti::success);
    const Control after = control();
    const auto moved = [](const std::uint64_t(&to)[6], const std::uint64_t(&from)[6]) {
        std::uint64_t all = 0;
        for (int cause = 0; cause < 6; ++cause)
            all += to[cause] - from[cause];
        return all;
    };
    using cupti::CounterKind;
    BOOST_TEST(sum(CounterKind::bytes_to_host) == moved(after.bytes_to_host, before.bytes_to_host));
    BOOST_TEST(sum(CounterKind::bytes_to_device) == moved(after.bytes_to_device, before.bytes_to_device));
    BOOST_TEST(sum(CounterKind::bytes_to_host) >= bytes);
    BOOST_TEST(count(CounterKind::host_fault) == after.host_faults - before.host_faults);
    BOOST_TEST(count(CounterKind::device_fault) > 0u);
    for (const cupti::CounterRecord& record : told) {
        BOOST_TEST_REQUIRE(record.kind == cupti::unified_memory_counter);
        BOOST_TEST_REQUIRE(record.start >= begin);
        BOOST_TEST_REQUIRE(record.address - reinterpret_cast<std::uint64_t>(values) < bytes);
        if (record.counter_kind == CounterKind::bytes_to_host) {
            BOOST_TEST_REQUIRE(record.source == 0u);
            BOOST_TEST_REQUIRE(record.destination == cupti::host_id);
        }
    }
    std::size_t dropped = 1;
    cupti_symbol<int(void*, std::uint32_t, std::size_t*)>("cuptiActivityGetNumDroppedRecords")(nullptr, 0,
                                                                                               &dropped);
    BOOST_TEST(dropped == 0u);
    cupti_symbol<int(std::uint32_t)>("cuptiActivityDisable")(cupti::unified_memory_counter);
    told.clear();
    values[0] = 2;
    cupti_symbol<int(std::uint32_t)>("cuptiActivityFlushAll")(0);
    BOOST_TEST(told.empty());
    CHECK_CUDA(cudaFree(values));
}

BOOST_AUTO_TEST_SUITE_END()
