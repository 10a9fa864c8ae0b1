// The counter without a GPU: the CUPTI below hands it records made here. Each test runs in a child, because the
// counter writes when a process ends.
#include <boost/test/unit_test.hpp>

#include <cupti.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern "C" int InitializeInjection();

namespace {

CUpti_BuffersCallbackRequestFunc request = nullptr;
CUpti_BuffersCallbackCompleteFunc complete = nullptr;
CUpti_CallbackFunc on_resource = nullptr;
std::vector<std::vector<std::byte>> pending; // records that a flush hands over
std::size_t dropped_records = 0;
CUptiResult unified_memory_answer = CUPTI_SUCCESS;

template <class Record>
void give(const Record& record) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&record);
    pending.emplace_back(bytes, bytes + sizeof record);
}

void give_copy(CUpti_ActivityMemcpyKind direction, CUpti_ActivityMemoryKind source,
               CUpti_ActivityMemoryKind destination, std::uint64_t bytes, std::uint64_t copies = 1) {
    CUpti_ActivityMemcpy6 copy{};
    copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    copy.copyKind = static_cast<std::uint8_t>(direction);
    copy.srcKind = static_cast<std::uint8_t>(source);
    copy.dstKind = static_cast<std::uint8_t>(destination);
    copy.bytes = bytes;
    copy.copyCount = copies;
    give(copy);
}

void give_unified_memory(CUpti_ActivityUnifiedMemoryCounterKind kind, std::uint64_t value,
                         std::uint32_t flags = 0, std::uint64_t address = 0) {
    CUpti_ActivityUnifiedMemoryCounter3 record{};
    record.kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
    record.counterKind = kind;
    record.value = value;
    record.flags = flags;
    record.address = address;
    give(record);
}

/// Runs `program` after the injection in a child that exits, and reads what the counter wrote.
nlohmann::json count(const std::function<void()>& program, const char* unified_memory = "") {
    char path[] = "/tmp/cupti-copies-test-XXXXXX";
    close(mkstemp(path));
    setenv("CUPTI_COUNTS", path, 1);
    setenv("CUPTI_COUNTS_UM", unified_memory, 1);
    std::cout.flush(); // or the child would print it again
    const pid_t child = fork();
    if (child == 0) {
        InitializeInjection();
        program();
        std::exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    BOOST_TEST(status == 0);
    std::ifstream file(path);
    const auto counts = nlohmann::json::parse(file, nullptr, false);
    unlink(path);
    return counts;
}

} // namespace

extern "C" {
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc ask,
                                           CUpti_BuffersCallbackCompleteFunc done) {
    request = ask;
    complete = done;
    return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind) {
    return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig*,
                                                       std::uint32_t) {
    return unified_memory_answer;
}
CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
    *text = result == CUPTI_SUCCESS ? "CUPTI_SUCCESS" : "CUPTI_ERROR_NOT_SUPPORTED";
    return CUPTI_SUCCESS;
}
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle*, CUpti_CallbackFunc callback, void*) {
    on_resource = callback;
    return CUPTI_SUCCESS;
}
CUptiResult cuptiEnableCallback(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId) {
    return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* number) {
    *number = dropped_records;
    return CUPTI_SUCCESS;
}
// A buffer here holds one record, as a lone record in a real one would: read once, then the end.
CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t, CUpti_Activity** record) {
    if (*record)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = reinterpret_cast<CUpti_Activity*>(buffer);
    return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushAll(std::uint32_t) {
    for (const auto& record : pending) {
        std::uint8_t* buffer = nullptr;
        std::size_t size = 0, most = 0;
        request(&buffer, &size, &most);
        std::memcpy(buffer, record.data(), record.size());
        complete(nullptr, 0, buffer, size, record.size());
    }
    return CUPTI_SUCCESS;
}
}

BOOST_AUTO_TEST_CASE(copies_are_summed_by_direction_and_memory) {
    const auto counts = count([] {
        give_copy(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE,
                  CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 100);
        give_copy(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE,
                  CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 20);
        give_copy(CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                  CUPTI_ACTIVITY_MEMORY_KIND_PINNED, 7);
    });
    const auto expected = nlohmann::json::parse(R"([
        {"direction": "HtoD", "source_memory": "pageable", "destination_memory": "device", "count": 2, "bytes": 120},
        {"direction": "DtoH", "source_memory": "device", "destination_memory": "pinned", "count": 1, "bytes": 7}])");
    BOOST_TEST(counts["copies"] == expected);
    BOOST_TEST(counts["dropped"] == 0);
    BOOST_TEST(!counts.contains("unified_memory"));
}

BOOST_AUTO_TEST_CASE(a_batch_counts_as_its_copies) {
    const auto counts = count([] {
        give_copy(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
                  CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 64, 4);
    });
    BOOST_TEST(counts["copies"][0]["count"] == 4);
    BOOST_TEST(counts["copies"][0]["bytes"] == 64);
}

BOOST_AUTO_TEST_CASE(kernels_and_memsets_are_counted_and_nothing_else) {
    const auto counts = count([] {
        CUpti_ActivityKernel10 kernel{};
        kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
        give(kernel);
        give(kernel);
        CUpti_ActivityMemset4 memset{};
        memset.kind = CUPTI_ACTIVITY_KIND_MEMSET;
        give(memset);
        dropped_records = 0;
    });
    BOOST_TEST(counts["kernels"] == 2);
    BOOST_TEST(counts["memsets"] == 1);
    BOOST_TEST(counts["copies"].empty());
}

BOOST_AUTO_TEST_CASE(dropped_records_are_said) {
    const auto counts = count([] {
        dropped_records = 3;
        give_copy(CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                  CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 1);
    });
    BOOST_TEST(counts["dropped"] == 3);
}

BOOST_AUTO_TEST_CASE(unified_memory_waits_for_a_context) {
    const auto before = count([] {}, "1");
    BOOST_TEST(!before.contains("unified_memory"));

    const auto counts = count(
        [] {
            on_resource(nullptr, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, nullptr);
            give_unified_memory(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT, 5,
                                CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_READ);
            give_unified_memory(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT, 1,
                                CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_PREFETCH);
            give_unified_memory(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT, 0x401000);
            give_unified_memory(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD, 4096,
                                CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_USER);
            give_unified_memory(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD, 65536,
                                CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_COHERENCE, (2 << 20) + 65536);
            give_unified_memory(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH, 8192,
                                CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_PREFETCH, (4 << 20) - 8192);
            give_unified_memory(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD, 16384,
                                CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_COHERENCE, 4096);
        },
        "1");
    const auto& um = counts["unified_memory"];
    BOOST_TEST(um["status"] == "CUPTI_SUCCESS");
    BOOST_TEST(um["device_fault_records"] == 1);
    BOOST_TEST(um["device_fault_groups"] == 5);
    BOOST_TEST(um["prefetch_faults"] == 1);
    BOOST_TEST(um["host_faults"] == 1);
    BOOST_TEST(um["to_device_bytes"] == 69632);
    BOOST_TEST(um["to_device_by_request_bytes"] == 4096);
    BOOST_TEST(um["to_host_bytes"] == 8192);
    BOOST_TEST(um["to_host_by_request_bytes"] == 0);
    BOOST_TEST(um["between_devices_bytes"] == 16384);
    BOOST_TEST(um["blocks"] == nlohmann::json::parse("[[0, 4096, 0, 16384], [2097152, 65536, 8192, 0]]"));
}

BOOST_AUTO_TEST_CASE(a_refusal_of_the_counters_is_said) {
    const auto counts = count(
        [] {
            unified_memory_answer = CUPTI_ERROR_NOT_SUPPORTED;
            on_resource(nullptr, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, nullptr);
        },
        "1");
    BOOST_TEST(counts["unified_memory"]["status"] == "CUPTI_ERROR_NOT_SUPPORTED");
}
