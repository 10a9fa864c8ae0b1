#include "observe_doubles.hpp"

#include "interposer/attach/driver.hpp"
#include "interposer/observe/managed_watch.hpp"
#include "interposer/record/checked_read.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/stacks.hpp"
#include "interposer/record/thread_writer.hpp"

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>

namespace umadvisor::attach {

ParameterLookup simulated_parameter() noexcept {
    return nullptr;
}

} // namespace umadvisor::attach

namespace umadvisor::record {

using observe::recorder;

[[maybe_unused]] const bool reads_are_open = (open_checked_reads(), true);

constinit thread_local ThreadSeat seat{};

void charge(std::uint64_t) noexcept {}
std::uint64_t stack() noexcept {
    return recorder().stack;
}
std::string_view object_on_stack(std::uint64_t, int, std::span<const std::string_view>) noexcept {
    return {};
}
std::uint64_t launch_stack() noexcept {
    return 0;
}
std::uint64_t stack_key(std::uint64_t stack) noexcept {
    return stack;
}
namespace {
void keep_note(const char* format, va_list arguments) {
    char text[1024];
    std::vsnprintf(text, sizeof text, format, arguments);
    const std::lock_guard guard(recorder().mutex);
    recorder().notes.emplace_back(text);
}
} // namespace
void note(const char* format, ...) noexcept {
    va_list arguments;
    va_start(arguments, format);
    keep_note(format, arguments);
    va_end(arguments);
}
void note(About, const char* format, ...) noexcept {
    va_list arguments;
    va_start(arguments, format);
    keep_note(format, arguments);
    va_end(arguments);
}

template <class Record>
void write(const Record& record) noexcept {
    const std::lock_guard guard(recorder().mutex);
    if constexpr (std::is_same_v<Record, trace::Residency>)
        recorder().residency.push_back(record);
    else if constexpr (std::is_same_v<Record, trace::DeviceTime>)
        recorder().device_times.push_back(record);
    else if constexpr (std::is_same_v<Record, trace::Prefetch>)
        recorder().prefetches.push_back(record);
    else if constexpr (std::is_same_v<Record, trace::Content>)
        recorder().contents.push_back(record);
    else if constexpr (std::is_same_v<Record, trace::Comparison>)
        recorder().comparisons.push_back(record);
    else if constexpr (std::is_same_v<Record, trace::Advise>)
        recorder().advices.push_back(record);
}
template void write(const trace::Residency&) noexcept;
template void write(const trace::DeviceTime&) noexcept;
template void write(const trace::Prefetch&) noexcept;
template void write(const trace::Advise&) noexcept;
template void write(const trace::Content&) noexcept;
template void write(const trace::Comparison&) noexcept;
template void write(const trace::Pool&) noexcept;
template void write(const trace::Copy&) noexcept;

template <class Record>
void define(const Record& record) noexcept {
    const std::lock_guard guard(recorder().mutex);
    if constexpr (std::is_same_v<Record, trace::Function>)
        recorder().functions.emplace_back(record, record.symbol);
    else
        recorder().host_ranges.emplace_back(record, record.path);
}
template void define(const trace::Function&) noexcept;
template void define(const trace::HostRange&) noexcept;
template <>
void define(const trace::HostReturn& record) noexcept {
    const std::lock_guard guard(recorder().mutex);
    recorder().host_returns.push_back(record);
}
template <>
void define(const trace::Option&) noexcept {}

} // namespace umadvisor::record

namespace umadvisor::observe {

using attach::Entry;

ManagedWatch& managed_watch() noexcept {
    static constinit ManagedWatch watch;
    return watch;
}
bool ManagedWatch::is_wanted() const noexcept {
    return true;
}
void ManagedWatch::start() noexcept {
    begun_ = counting_ = true;
}
bool ManagedWatch::begins_early() noexcept {
    return false;
}
std::uint64_t ManagedWatch::sum_of_counters() const noexcept {
    return driver().managed_activity;
}
bool ManagedWatch::watches() const noexcept {
    return driver().managed_watched;
}
void ManagedWatch::look_at_counters() noexcept {}
bool ManagedWatch::settled() const noexcept {
    return true;
}
bool ManagedWatch::delivers() const noexcept {
    return driver().managed_watched;
}
void ManagedWatch::set_listener(ManagedListener listener) noexcept {
    driver().managed_listener = listener;
}
void ManagedWatch::deliver() noexcept {
    for (const trace::ManagedEvent& event : std::exchange(driver().managed_events, {}))
        driver().managed_listener(event);
}
void ManagedWatch::suspend(bool wanted) noexcept {
    driver().managed_at_rest = wanted;
}

FakeRecorder& recorder() {
    static FakeRecorder only;
    return only;
}

void FakeRecorder::clear() {
    const std::lock_guard guard(mutex);
    residency.clear();
    device_times.clear();
    prefetches.clear();
    advices.clear();
    contents.clear();
    functions.clear();
    notes.clear();
}

FakeDriver& driver() {
    static FakeDriver only;
    return only;
}

namespace {

template <Entry E>
void has(typename attach::EntryTraits<E>::Function function) {
    attach::umadvisor_real_table[attach::index(E)] = reinterpret_cast<void*>(function);
}

void must_be_relaxed() {
    driver().relaxed_at_every_call &= driver().thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED;
}

CUresult parameter(const std::map<std::uint64_t, FakeKernel>& kernels, const void* handle, std::size_t number,
                   std::size_t* offset, std::size_t* bytes) {
    const auto kernel = kernels.find(reinterpret_cast<std::uint64_t>(handle));
    if (kernel == kernels.end())
        return CUDA_ERROR_INVALID_HANDLE;
    if (number >= kernel->second.parameters.size())
        return CUDA_ERROR_INVALID_VALUE;
    *offset = kernel->second.parameters[number].first;
    *bytes = kernel->second.parameters[number].second;
    return CUDA_SUCCESS;
}

CUresult name(const std::map<std::uint64_t, FakeKernel>& kernels, const void* handle, const char** out) {
    const auto kernel = kernels.find(reinterpret_cast<std::uint64_t>(handle));
    if (kernel == kernels.end())
        return CUDA_ERROR_INVALID_HANDLE;
    *out = kernel->second.name.c_str();
    return CUDA_SUCCESS;
}

void install_context() {
    has<Entry::cuCtxGetCurrent>([](CUcontext* out) {
        *out = driver().context;
        return CUDA_SUCCESS;
    });
    has<Entry::cuCtxGetId>([](CUcontext, unsigned long long* out) {
        *out = driver().context_id;
        return CUDA_SUCCESS;
    });
    has<Entry::cuCtxGetDevice>([](CUdevice* out) {
        *out = driver().device;
        return driver().context != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
    });
    has<Entry::cuDeviceGetCount>([](int* out) {
        *out = driver().devices;
        return CUDA_SUCCESS;
    });
    has<Entry::cuDeviceGet>([](CUdevice* out, int ordinal) {
        *out = ordinal;
        return CUDA_SUCCESS;
    });
    has<Entry::cuDeviceTotalMem_v2>([](std::size_t* out, CUdevice) {
        *out = driver().memory_bytes;
        return CUDA_SUCCESS;
    });
    has<Entry::cuDeviceGetAttribute>([](int* out, CUdevice_attribute which, CUdevice) {
        const bool node = which == CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID;
        driver().node_asked += node;
        *out = node                                                  ? driver().host_node
               : which == CU_DEVICE_ATTRIBUTE_INTEGRATED             ? driver().integrated
               : which == CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS ? driver().pageable
               : which == CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES
                   ? driver().coherent
                   : driver().concurrent_managed_access;
        return CUDA_SUCCESS;
    });
}

void install_streams_and_events() {
    has<Entry::cuStreamIsCapturing>([](CUstream, CUstreamCaptureStatus* out) {
        *out = driver().capture_status;
        return driver().capture_answer;
    });
    has<Entry::cuThreadExchangeStreamCaptureMode>([](CUstreamCaptureMode* mode) {
        std::swap(*mode, driver().thread_mode);
        return CUDA_SUCCESS;
    });
    has<Entry::cuEventCreate>([](CUevent* out, unsigned) {
        must_be_relaxed();
        *out = reinterpret_cast<CUevent>(++driver().events);
        return driver().events == driver().event_refused_at ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
    });
    has<Entry::cuEventDestroy_v2>([](CUevent) {
        ++driver().events_destroyed;
        return CUDA_SUCCESS;
    });
    has<Entry::cuEventRecord>([](CUevent, CUstream stream) {
        must_be_relaxed();
        ++driver().records;
        driver().record_streams.push_back(stream);
        return driver().event_answer;
    });
    has<Entry::cuStreamCreate>([](CUstream* out, unsigned) {
        must_be_relaxed();
        *out = FakeDriver::own_stream;
        return CUDA_SUCCESS;
    });
    has<Entry::cuStreamWaitEvent>([](CUstream stream, CUevent, unsigned) {
        must_be_relaxed();
        driver().wait_streams.push_back(stream);
        return CUDA_SUCCESS;
    });
    has<Entry::cuEventQuery>([](CUevent) {
        must_be_relaxed();
        ++driver().queries;
        return driver().finished ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    });
    has<Entry::cuEventElapsedTime>([](float* out, CUevent, CUevent) {
        *out = driver().milliseconds;
        return CUDA_SUCCESS;
    });
}

void install_kernels() {
    has<Entry::cuFuncGetName>([](const char** out, CUfunction f) { return name(driver().functions, f, out); });
    has<Entry::cuFuncGetParamInfo>(
        [](CUfunction f, std::size_t number, std::size_t* offset, std::size_t* bytes) {
            return parameter(driver().functions, f, number, offset, bytes);
        });
    has<Entry::cuKernelGetName>([](const char** out, CUkernel k) { return name(driver().kernels, k, out); });
    has<Entry::cuKernelGetParamInfo>(
        [](CUkernel k, std::size_t number, std::size_t* offset, std::size_t* bytes) {
            return parameter(driver().kernels, k, number, offset, bytes);
        });
}

CUresult attribute(void* out, CUpointer_attribute which, CUdeviceptr address) {
    const std::lock_guard guard(driver().mutex);
    ++driver().asked;
    const auto found = driver().pointers.upper_bound(address);
    if (found == driver().pointers.end() || address < found->second.first)
        return CUDA_ERROR_INVALID_VALUE;
    const FakeAttributes& pointer = found->second;
    switch (which) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *static_cast<unsigned*>(out) = pointer.type;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *static_cast<unsigned char*>(out) = pointer.managed;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *static_cast<CUdeviceptr*>(out) = pointer.first;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *static_cast<std::size_t*>(out) = pointer.bytes;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult prefetched(int abi, CUstream stream) {
    must_be_relaxed();
    ++driver().prefetches;
    driver().prefetch_abi = abi;
    driver().prefetch_stream = stream;
    return driver().prefetch_answer;
}

CUresult advised(CUmem_advise advice) {
    ++driver().advices;
    driver().advice.push_back(advice);
    return driver().advise_answer;
}

void install_memory() {
    // The driver's own, as far as nobody frees it: what is of a context goes with that.
    static std::map<void*, std::unique_ptr<char[]>> pinned;
    has<Entry::cuMemHostAlloc>([](void** out, std::size_t bytes, unsigned) {
        ++driver().host_allocated;
        *out = nullptr;
        if (driver().host_answer == CUDA_SUCCESS) {
            std::unique_ptr<char[]> memory(new char[bytes]);
            *out = memory.get();
            pinned[*out] = std::move(memory);
        }
        return driver().host_answer;
    });
    has<Entry::cuMemFreeHost>([](void* memory) {
        ++driver().host_freed;
        pinned.erase(memory);
        return CUDA_SUCCESS;
    });
    has<Entry::cuPointerGetAttribute>(attribute);
    has<Entry::cuMemPrefetchAsync>(
        [](CUdeviceptr, std::size_t, CUdevice, CUstream stream) { return prefetched(1, stream); });
    has<Entry::cuMemPrefetchAsync_v2>([](CUdeviceptr, std::size_t, CUmemLocation, unsigned, CUstream stream) {
        return prefetched(2, stream);
    });
    has<Entry::cuMemAdvise>(
        [](CUdeviceptr, std::size_t, CUmem_advise advice, CUdevice) { return advised(advice); });
    has<Entry::cuMemAdvise_v2>(
        [](CUdeviceptr, std::size_t, CUmem_advise advice, CUmemLocation) { return advised(advice); });
    has<Entry::cuMemAllocManaged>([](CUdeviceptr* out, std::size_t, unsigned) {
        *out = 0x7000'0000'0000 + ++driver().managed_calls * (1ull << 32);
        return driver().managed_answer;
    });
}

} // namespace

namespace {
std::atomic<std::uint64_t> time_now{1'000'000'000};
[[maybe_unused]] const bool clock_chosen = [] {
    record::choose_clock([] { return time_now.fetch_add(1) + 1; });
    return true;
}();
} // namespace

void pass_time(std::uint64_t nanoseconds) {
    time_now += nanoseconds;
}

void install_driver() {
    std::fill(std::begin(attach::umadvisor_real_table), std::end(attach::umadvisor_real_table),
              reinterpret_cast<void*>(&attach::missing_entry));
    static_cast<FreshDriver&>(driver()) = {};
    install_context();
    install_streams_and_events();
    install_kernels();
    install_memory();
    recorder().clear();
}

void remove_entry(attach::Entry entry) {
    attach::umadvisor_real_table[attach::index(entry)] = reinterpret_cast<void*>(&attach::missing_entry);
}

} // namespace umadvisor::observe
