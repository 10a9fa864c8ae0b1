// Captures streams in each mode and makes, inside, every recorded kind of call that a capture allows. Prints
// the status of each and whether the capture is still sound, so one extra call that does not belong there
// shows.
#include "driver_program.hpp"

#include <thread>

namespace {

constexpr std::size_t bytes = 1 << 20;

CUstream capturing = nullptr;

void show(const char* what, CUresult result) {
    CUstreamCaptureStatus status{};
    const CUresult asked = ASK("cuStreamIsCapturing", cuStreamIsCapturing)(capturing, &status);
    std::printf("  %s: %d, capture %d %d\n", what, static_cast<int>(result), static_cast<int>(asked),
                static_cast<int>(status));
}

#define CALL(name, symbol, ...) show(#symbol, ASK(name, symbol)(__VA_ARGS__))

struct Memory {
    CUdeviceptr device = 0, managed = 0;
    void* pinned = nullptr;
    char* pageable = nullptr;
};

void capture(CUstreamCaptureMode mode, CUfunction function, Memory& memory) {
    std::printf("mode %d\n", static_cast<int>(mode));
    CUevent inside = nullptr, outside = nullptr, made = nullptr;
    CUstream side = nullptr, other = nullptr, fresh = nullptr;
    CUgraph graph = nullptr;
    CUdeviceptr from_pool = 0, allocated = 0;
    must(ASK("cuEventCreate", cuEventCreate)(&inside, CU_EVENT_DISABLE_TIMING), "event");
    must(ASK("cuEventCreate", cuEventCreate)(&outside, CU_EVENT_DEFAULT), "event");
    must(ASK("cuStreamCreate", cuStreamCreate)(&side, CU_STREAM_NON_BLOCKING), "stream");
    must(ASK("cuStreamCreate", cuStreamCreate)(&other, CU_STREAM_NON_BLOCKING), "stream");
    must(ASK("cuStreamCreate", cuStreamCreate)(&capturing, CU_STREAM_NON_BLOCKING), "stream");

    void* device_parameters[] = {&memory.device};
    void* managed_parameters[] = {&memory.managed};
    // Work that was measured and is not read back yet: whoever looks at its events now does so inside a
    // capture.
    for (int i = 0; i < 4; ++i)
        must(ASK("cuLaunchKernel", cuLaunchKernel)(function, 1 + i, 1, 1, 1, 1, 1, 0, other, device_parameters,
                                                   nullptr),
             "launch");
    *reinterpret_cast<volatile float*>(memory.managed) = 1; // on the host: a launch would want it moved
    must(ASK("cuStreamBeginCapture", cuStreamBeginCapture_v2)(capturing, mode), "begin");

    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    config.hStream = capturing;
    for (int i = 0; i < 12; ++i) // more than the first samples of a kind
        CALL("cuLaunchKernel", cuLaunchKernel, function, 1, 1, 1, 1, 1, 1, 0, capturing, managed_parameters,
             nullptr);
    CALL("cuLaunchKernelEx", cuLaunchKernelEx, &config, function, managed_parameters, nullptr);
    CALL("cuLaunchCooperativeKernel", cuLaunchCooperativeKernel, function, 1, 1, 1, 1, 1, 1, 0, capturing,
         device_parameters);
    void* const managed = reinterpret_cast<void*>(memory.managed);
    CALL("cuMemcpyAsync", cuMemcpyAsync, memory.device, memory.managed, bytes, capturing);
    CALL("cuMemcpyHtoDAsync", cuMemcpyHtoDAsync_v2, memory.device, memory.pinned, bytes, capturing);
    CALL("cuMemcpyHtoDAsync", cuMemcpyHtoDAsync_v2, memory.device, memory.pageable, bytes, capturing);
    CALL("cuMemcpyDtoHAsync", cuMemcpyDtoHAsync_v2, memory.pinned, memory.device, bytes, capturing);
    CALL("cuMemcpyDtoHAsync", cuMemcpyDtoHAsync_v2, managed, memory.device, bytes, capturing);
    CALL("cuMemcpyDtoDAsync", cuMemcpyDtoDAsync_v2, memory.managed, memory.device, bytes, capturing);
    CALL("cuMemsetD8Async", cuMemsetD8Async, memory.device, 1, bytes, capturing);
    CALL("cuMemsetD32Async", cuMemsetD32Async, memory.managed, 1, bytes / 4, capturing);
    CALL("cuMemAdvise", cuMemAdvise_v2, memory.managed, bytes, CU_MEM_ADVISE_SET_READ_MOSTLY,
         {CU_MEM_LOCATION_TYPE_DEVICE, {0}});
    CALL("cuMemAllocAsync", cuMemAllocAsync, &from_pool, bytes, capturing);
    CALL("cuMemFreeAsync", cuMemFreeAsync, from_pool, capturing);
    if (mode == CU_STREAM_CAPTURE_MODE_RELAXED) { // allowed there alone
        CALL("cuMemAlloc", cuMemAlloc_v2, &allocated, bytes);
        CALL("cuMemFree", cuMemFree_v2, allocated);
        CALL("cuEventQuery", cuEventQuery, outside); // before it is recorded: after that, time would tell
        CALL("cuEventRecord", cuEventRecord, outside, other);
        CALL("cuEventSynchronize", cuEventSynchronize, outside);
        CALL("cuMemcpyDtoH", cuMemcpyDtoH_v2, memory.pageable, memory.device, 16);
    }
    CALL("cuEventRecord", cuEventRecord, inside, capturing);
    CALL("cuStreamWaitEvent", cuStreamWaitEvent, side, inside, 0);
    CALL("cuLaunchKernel", cuLaunchKernel, function, 1, 1, 1, 1, 1, 1, 0, side, managed_parameters, nullptr);
    CALL("cuEventRecord", cuEventRecordWithFlags, inside, side, 0);
    CALL("cuStreamWaitEvent", cuStreamWaitEvent, capturing, inside, 0);
    CALL("cuStreamCreate", cuStreamCreate, &fresh, CU_STREAM_NON_BLOCKING);
    CALL("cuStreamDestroy", cuStreamDestroy_v2, fresh);
    CALL("cuEventCreate", cuEventCreate, &made, CU_EVENT_DEFAULT);
    CALL("cuEventDestroy", cuEventDestroy_v2, made);
    // Streams outside the capture: launched into, waited for, copied on, by this thread and by another.
    const auto outside_work = [&] {
        for (int i = 0; i < 12; ++i)
            CALL("cuLaunchKernel", cuLaunchKernel, function, 2, 1, 1, 1, 1, 1, 0, other, device_parameters,
                 nullptr);
        CALL("cuMemcpyDtoHAsync", cuMemcpyDtoHAsync_v2, memory.pinned, memory.device, bytes, other);
        CALL("cuStreamSynchronize", cuStreamSynchronize, other);
        CALL("cuStreamQuery", cuStreamQuery, other);
    };
    outside_work();
    std::thread worker([&] {
        make_context();
        outside_work();
    });
    worker.join();
    show("end", ASK("cuStreamEndCapture", cuStreamEndCapture)(capturing, &graph));
    // And one that the program itself ruins: the refusals are the driver's, word for word.
    must(ASK("cuStreamBeginCapture", cuStreamBeginCapture_v2)(capturing, mode), "begin");
    CALL("cuMemPrefetchAsync", cuMemPrefetchAsync_v2, memory.managed, bytes, {CU_MEM_LOCATION_TYPE_DEVICE, {0}},
         0, capturing);
    CALL("cuMemAlloc", cuMemAlloc_v2, &allocated, bytes);
    CALL("cuStreamSynchronize", cuStreamSynchronize, capturing);
    CALL("cuLaunchKernel", cuLaunchKernel, function, 1, 1, 1, 1, 1, 1, 0, capturing, managed_parameters,
         nullptr);
    show("end", ASK("cuStreamEndCapture", cuStreamEndCapture)(capturing, &graph));
    CALL("cuCtxSynchronize", cuCtxSynchronize_v2, nullptr);
}

} // namespace

int main() {
    make_context();
    const CUfunction function = load_count_up();
    Memory memory;
    must(ASK("cuMemAlloc", cuMemAlloc_v2)(&memory.device, bytes), "device");
    must(ASK("cuMemAllocManaged", cuMemAllocManaged)(&memory.managed, bytes, CU_MEM_ATTACH_GLOBAL), "managed");
    must(ASK("cuMemHostAlloc", cuMemHostAlloc)(&memory.pinned, bytes, 0), "pinned");
    memory.pageable = static_cast<char*>(std::calloc(1, bytes));
    for (const CUstreamCaptureMode mode :
         {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED})
        capture(mode, function, memory);
    std::free(memory.pageable);
    return 0;
}
