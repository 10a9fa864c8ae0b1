// residency/cupti_interface.hpp against NVIDIA's headers. Nothing runs: it compiles or it does not. CUPTI's
// headers are a package of their own; where they are not, nothing is held against them.
#include "residency/cupti_interface.hpp"

#if __has_include(<cupti_activity_deprecated.h>)

#include <cupti.h>
#include <cupti_activity_deprecated.h>

#include <type_traits>

namespace {

namespace cupti = umadvisor::residency::cupti;
using cupti::CounterRecord;

#define SAME_NUMBER(ours, theirs) static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs))
SAME_NUMBER(cupti::success, CUPTI_SUCCESS);
SAME_NUMBER(cupti::invalid_parameter, CUPTI_ERROR_INVALID_PARAMETER);
SAME_NUMBER(cupti::max_limit_reached, CUPTI_ERROR_MAX_LIMIT_REACHED);
SAME_NUMBER(cupti::unified_memory_not_supported, CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED);
SAME_NUMBER(cupti::multiple_subscribers_not_supported, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME_NUMBER(cupti::unified_memory_counter, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
SAME_NUMBER(cupti::single_device_scope, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE);
SAME_NUMBER(cupti::flush_forced, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
SAME_NUMBER(cupti::on_host, CUPTI_ACTIVITY_FLAG_THRASHING_IN_CPU);
SAME_NUMBER(cupti::on_host, CUPTI_ACTIVITY_FLAG_THROTTLING_IN_CPU);

#define SAME_KIND(ours, theirs)                                                                                \
    SAME_NUMBER(cupti::CounterKind::ours, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_##theirs)
SAME_KIND(bytes_to_device, BYTES_TRANSFER_HTOD);
SAME_KIND(bytes_to_host, BYTES_TRANSFER_DTOH);
SAME_KIND(host_fault, CPU_PAGE_FAULT_COUNT);
SAME_KIND(device_fault, GPU_PAGE_FAULT);
SAME_KIND(thrashing, THRASHING);
SAME_KIND(throttling, THROTTLING);
SAME_KIND(remote_map, REMOTE_MAP);
SAME_KIND(bytes_between_devices, BYTES_TRANSFER_DTOD);

#define SAME_FIELD(Ours, ours, Theirs, theirs)                                                                 \
    static_assert(offsetof(Ours, ours) == offsetof(Theirs, theirs) &&                                          \
                  sizeof(Ours::ours) == sizeof(Theirs::theirs))
#define SAME_RECORD(Theirs)                                                                                    \
    SAME_FIELD(CounterRecord, kind, Theirs, kind);                                                             \
    SAME_FIELD(CounterRecord, counter_kind, Theirs, counterKind);                                              \
    SAME_FIELD(CounterRecord, value, Theirs, value);                                                           \
    SAME_FIELD(CounterRecord, start, Theirs, start);                                                           \
    SAME_FIELD(CounterRecord, end, Theirs, end);                                                               \
    SAME_FIELD(CounterRecord, address, Theirs, address);                                                       \
    SAME_FIELD(CounterRecord, source, Theirs, srcId);                                                          \
    SAME_FIELD(CounterRecord, destination, Theirs, dstId);                                                     \
    SAME_FIELD(CounterRecord, stream, Theirs, streamId);                                                       \
    SAME_FIELD(CounterRecord, process, Theirs, processId);                                                     \
    SAME_FIELD(CounterRecord, flags, Theirs, flags);                                                           \
    SAME_FIELD(CounterRecord, padding, Theirs, pad);                                                           \
    static_assert(sizeof(CounterRecord) <= sizeof(Theirs))
SAME_RECORD(CUpti_ActivityUnifiedMemoryCounter2);
SAME_RECORD(CUpti_ActivityUnifiedMemoryCounter3);
static_assert(sizeof(CounterRecord) == sizeof(CUpti_ActivityUnifiedMemoryCounter2));

using TheirConfig = CUpti_ActivityUnifiedMemoryCounterConfig;
SAME_FIELD(cupti::CounterConfig, scope, TheirConfig, scope);
SAME_FIELD(cupti::CounterConfig, kind, TheirConfig, kind);
SAME_FIELD(cupti::CounterConfig, device, TheirConfig, deviceId);
SAME_FIELD(cupti::CounterConfig, enable, TheirConfig, enable);
static_assert(sizeof(cupti::CounterConfig) == sizeof(TheirConfig));

// Pointers to functions are called through ours: as many parameters, each as large and of the same class.
static_assert(std::is_same_v<cupti::BufferRequested, CUpti_BuffersCallbackRequestFunc>);
static_assert(std::is_same_v<decltype(&cuptiActivityFlushAll), CUptiResult (*)(std::uint32_t)>);
static_assert(std::is_same_v<decltype(&cuptiGetTimestamp), CUptiResult (*)(std::uint64_t*)>);
static_assert(std::is_same_v<decltype(&cuptiGetVersion), CUptiResult (*)(std::uint32_t*)>);
static_assert(std::is_same_v<decltype(&cuptiActivityGetNextRecord),
                             CUptiResult (*)(std::uint8_t*, std::size_t, CUpti_Activity**)>);
static_assert(std::is_same_v<decltype(&cuptiActivityGetNumDroppedRecords),
                             CUptiResult (*)(CUcontext, std::uint32_t, std::size_t*)>);
static_assert(std::is_same_v<CUpti_BuffersCallbackCompleteFunc,
                             void (*)(CUcontext, std::uint32_t, std::uint8_t*, std::size_t, std::size_t)>);
static_assert(std::is_same_v<decltype(&cuptiSubscribe),
                             CUptiResult (*)(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*)>);
static_assert(
    std::is_same_v<CUpti_CallbackFunc, void (*)(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*)>);
static_assert(sizeof(CUptiResult) == sizeof(int) && sizeof(CUpti_ActivityKind) == sizeof(std::uint32_t) &&
              sizeof(CUpti_CallbackDomain) == sizeof(std::uint32_t) &&
              sizeof(CUpti_CallbackId) == sizeof(std::uint32_t) &&
              sizeof(CUpti_SubscriberHandle) == sizeof(void*));

} // namespace

#endif
