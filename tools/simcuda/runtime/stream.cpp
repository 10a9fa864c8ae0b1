#include "tools/simcuda/runtime/runtime.hpp"

using namespace simcuda::runtime;

extern "C" cudaError_t CUDARTAPI cudaDeviceSynchronize(void) {
    return with_driver([](const Driver& real) { return real.synchronize(); });
}

extern "C" cudaError_t CUDARTAPI cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    return with_driver([&](const Driver& real) { return real.priority_range(least, greatest); });
}

extern "C" cudaError_t CUDARTAPI cudaStreamCreate(cudaStream_t* stream) {
    return with_driver([&](const Driver& real) { return real.stream_create(stream, 0); });
}

extern "C" cudaError_t CUDARTAPI cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    return with_driver([&](const Driver& real) { return real.stream_create(stream, flags); });
}

extern "C" cudaError_t CUDARTAPI cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags,
                                                              int priority) {
    return with_driver(
        [&](const Driver& real) { return real.stream_create_priority(stream, flags, priority); });
}

extern "C" cudaError_t CUDARTAPI cudaStreamDestroy(cudaStream_t stream) {
    return with_driver([&](const Driver& real) { return real.stream_destroy(stream); });
}

extern "C" cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t stream) {
    return with_driver([&](const Driver& real) { return real.stream_synchronize(stream); });
}

extern "C" cudaError_t CUDARTAPI cudaStreamQuery(cudaStream_t stream) {
    return with_driver([&](const Driver& real) { return real.stream_query(stream); });
}

extern "C" cudaError_t CUDARTAPI cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    return with_driver([&](const Driver& real) { return real.stream_wait(stream, event, flags); });
}

extern "C" cudaError_t CUDARTAPI cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, size_t bytes,
                                                          unsigned flags) {
    return with_driver(
        [&](const Driver& real) { return real.stream_attach(stream, address(pointer), bytes, flags); });
}

extern "C" cudaError_t CUDARTAPI cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
    return with_driver([&](const Driver& real) {
        return real.stream_begin_capture(stream, static_cast<CUstreamCaptureMode>(mode));
    });
}

extern "C" cudaError_t CUDARTAPI cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    return with_driver([&](const Driver& real) { return real.stream_end_capture(stream, graph); });
}

extern "C" cudaError_t CUDARTAPI cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    return with_driver([&](const Driver& real) {
        return real.stream_is_capturing(stream, reinterpret_cast<CUstreamCaptureStatus*>(status));
    });
}

extern "C" cudaError_t CUDARTAPI cudaEventCreate(cudaEvent_t* event) {
    return with_driver([&](const Driver& real) { return real.event_create(event, 0); });
}

extern "C" cudaError_t CUDARTAPI cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    return with_driver([&](const Driver& real) { return real.event_create(event, flags); });
}

extern "C" cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t event) {
    return with_driver([&](const Driver& real) { return real.event_destroy(event); });
}

extern "C" cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return with_driver([&](const Driver& real) { return real.event_record(event, stream); });
}

extern "C" cudaError_t CUDARTAPI cudaEventQuery(cudaEvent_t event) {
    return with_driver([&](const Driver& real) { return real.event_query(event); });
}

extern "C" cudaError_t CUDARTAPI cudaEventSynchronize(cudaEvent_t event) {
    return with_driver([&](const Driver& real) { return real.event_synchronize(event); });
}

extern "C" cudaError_t CUDARTAPI cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    return with_driver([&](const Driver& real) {
        return real.event_elapsed ? real.event_elapsed(milliseconds, start, end)
                                  : real.event_elapsed_old(milliseconds, start, end);
    });
}
