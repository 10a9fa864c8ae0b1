// libcupti_copies.so: an independent count of copies, kernels and unified-memory events, to hold traces
// against. The driver loads it through CUDA_INJECTION64_PATH. Environment:
//   CUPTI_COUNTS=FILE   where the JSON object goes at exit (nothing is counted without it)
//   CUPTI_COUNTS_UM=1   also count unified-memory events; slows fault-heavy programs down
#include "tests/gpu/copy_counts.hpp"

#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace {

using namespace cupti_copies;

constexpr std::size_t buffer_bytes = std::size_t{4} << 20;
// Records are naturally aligned and hold 64-bit members.
constexpr std::size_t buffer_alignment = 8;
// The driver's: no migration crosses one.
constexpr std::uint64_t block_bytes = std::uint64_t{2} << 20;

// Held only while a counter changes, never across a call into CUPTI: its flush calls us back under its own
// lock.
std::mutex counts_mutex;
// Never destroyed: CUPTI's thread may hand over a buffer while the program's static objects are being torn
// down.
Counts& counts = *new Counts;
std::atomic<bool> unified_memory_tried = false;

void count_unified_memory(const CUpti_ActivityUnifiedMemoryCounter3& record) {
    UnifiedMemory& um = counts.unified_memory;
    const bool by_request = record.flags == CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_USER;
    switch (record.counterKind) {
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD:
        um.to_device_bytes += record.value;
        um.blocks[record.address & ~(block_bytes - 1)].to_device += record.value;
        um.to_device_by_request_bytes += by_request ? record.value : 0;
        break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH:
        um.to_host_bytes += record.value;
        um.blocks[record.address & ~(block_bytes - 1)].to_host += record.value;
        um.to_host_by_request_bytes += by_request ? record.value : 0;
        break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD:
        um.between_devices_bytes += record.value;
        um.blocks[record.address & ~(block_bytes - 1)].between_devices += record.value;
        break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT:
        ++um.host_faults; // the value is a program counter
        break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT:
        if (record.flags == CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_PREFETCH) {
            ++um.prefetch_faults;
        } else {
            ++um.device_fault_records;
            um.device_fault_groups += record.value;
        }
        break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING:
        ++um.thrashing;
        break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING:
        ++um.throttling;
        break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP:
        ++um.remote_maps;
        break;
    default:
        break;
    }
}

void count_record(const CUpti_Activity& activity) {
    // Record layouts are those of CUDA 13.0, which the carried libcupti.so.13 writes.
    switch (activity.kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
        const auto& copy = reinterpret_cast<const CUpti_ActivityMemcpy6&>(activity);
        Amount& amount = counts.copies[{copy.copyKind, copy.srcKind, copy.dstKind}];
        // A batch call is one record for several copies.
        amount.count += copy.copyCount > 1 ? copy.copyCount : 1;
        amount.bytes += copy.bytes;
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
        const auto& copy = reinterpret_cast<const CUpti_ActivityMemcpyPtoP4&>(activity);
        Amount& amount = counts.copies[{copy.copyKind, copy.srcKind, copy.dstKind}];
        ++amount.count;
        amount.bytes += copy.bytes;
        break;
    }
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        ++counts.kernels;
        break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        ++counts.memsets;
        break;
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
        count_unified_memory(reinterpret_cast<const CUpti_ActivityUnifiedMemoryCounter3&>(activity));
        break;
    default:
        break;
    }
}

void CUPTIAPI give_buffer(uint8_t** buffer, size_t* size, size_t* max_records) {
    *buffer = static_cast<uint8_t*>(std::aligned_alloc(buffer_alignment, buffer_bytes));
    *size = *buffer ? buffer_bytes : 0;
    *max_records = 0; // as many as fit
}

void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t* buffer, size_t, size_t valid_bytes) {
    CUpti_Activity* record = nullptr;
    while (valid_bytes > 0 && cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
        const std::lock_guard lock(counts_mutex);
        count_record(*record);
    }
    size_t dropped = 0;
    if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS && dropped > 0) {
        const std::lock_guard lock(counts_mutex);
        counts.dropped += dropped;
    }
    std::free(buffer);
}

// At least the first; the driver that has loaded this knows the others.
std::uint32_t devices() {
    int count = 1;
    if (void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD)) {
        if (const auto get_count = reinterpret_cast<CUresult (*)(int*)>(dlsym(driver, "cuDeviceGetCount")))
            get_count(&count);
        dlclose(driver);
    }
    return static_cast<std::uint32_t>(count);
}

void enable_unified_memory() {
    if (unified_memory_tried.exchange(true))
        return;
    static constexpr CUpti_ActivityUnifiedMemoryCounterKind kinds[] = {
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP,
    };
    std::vector<CUpti_ActivityUnifiedMemoryCounterConfig> configs;
    for (std::uint32_t device = 0; device < devices(); ++device)
        for (const auto kind : kinds)
            configs.push_back(
                {CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE, kind, device, 1});
    CUptiResult result =
        cuptiActivityConfigureUnifiedMemoryCounter(configs.data(), static_cast<std::uint32_t>(configs.size()));
    if (result == CUPTI_SUCCESS)
        result = cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
    const char* text = "unknown CUPTI error";
    cuptiGetResultString(result, &text);
    const std::lock_guard lock(counts_mutex);
    counts.unified_memory_status = text;
}

// The injection runs inside cuInit, before there is a device to configure counters on: wait for the first
// context.
void CUPTIAPI on_context(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void*) {
    if (domain == CUPTI_CB_DOMAIN_RESOURCE && id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED)
        enable_unified_memory();
}

// Runs before the driver's own tear-down: handlers run in reverse order, and this one is registered inside
// cuInit.
void write_at_exit() {
    cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    const char* path = std::getenv("CUPTI_COUNTS");
    std::FILE* file = path ? std::fopen(path, "w") : nullptr;
    if (!file) {
        std::fprintf(stderr, "cupti_copies: cannot write %s\n", path ? path : "(CUPTI_COUNTS is not set)");
        return;
    }
    const std::lock_guard lock(counts_mutex);
    const bool written = write_json(counts, file);
    if (std::fclose(file) != 0 || !written)
        std::fprintf(stderr, "cupti_copies: cannot write %s\n", path);
}

bool enable(CUpti_ActivityKind kind, const char* name) {
    const CUptiResult result = cuptiActivityEnable(kind);
    if (result == CUPTI_SUCCESS)
        return true;
    const char* text = "unknown CUPTI error";
    cuptiGetResultString(result, &text);
    std::fprintf(stderr, "cupti_copies: %s: %s\n", name, text);
    return false;
}

bool wait_for_context() {
    CUpti_SubscriberHandle subscriber;
    return cuptiSubscribe(&subscriber, on_context, nullptr) == CUPTI_SUCCESS &&
           cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED) ==
               CUPTI_SUCCESS;
}

} // namespace

/// Called by the driver inside cuInit. 1 says that the tool is in place (CUPTI documentation, CUDA injection).
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
    if (!std::getenv("CUPTI_COUNTS"))
        return 1;
    if (cuptiActivityRegisterCallbacks(give_buffer, take_buffer) != CUPTI_SUCCESS) {
        std::fprintf(stderr, "cupti_copies: CUPTI takes no callbacks\n");
        return 1;
    }
    enable(CUPTI_ACTIVITY_KIND_MEMCPY, "copies");
    enable(CUPTI_ACTIVITY_KIND_MEMCPY2, "copies between devices");
    enable(CUPTI_ACTIVITY_KIND_MEMSET, "memsets");
    enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kernels");
    const char* want = std::getenv("CUPTI_COUNTS_UM");
    if (want && *want == '1' && !wait_for_context())
        std::fprintf(stderr, "cupti_copies: CUPTI takes no subscriber: no unified-memory counters\n");
    std::atexit(write_at_exit);
    return 1;
}
