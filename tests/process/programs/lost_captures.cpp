// Begins captures that never come to an end, in the way that is asked for, and allocates device memory
// afterwards: nothing is captured by then.
#include "driver_program.hpp"
#include "scenarios.hpp"

#include "tools/simcuda/control.hpp"

#include <string_view>

namespace {

void allocate() {
    CUdeviceptr memory = 0;
    std::printf("allocated: %d\n", static_cast<int>(ASK("cuMemAlloc", cuMemAlloc_v2)(&memory, 4 << 20)));
}

CUstream make_stream() {
    CUstream stream = nullptr;
    must(ASK("cuStreamCreate", cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "stream");
    return stream;
}

void destroy(CUstream stream) {
    must(ASK("cuStreamDestroy", cuStreamDestroy_v2)(stream), "destroy stream");
}

/// So that allocations may be made meanwhile.
void begin(CUstream stream) {
    must(ASK("cuStreamBeginCapture", cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "begin");
}

CUresult end(CUstream stream) {
    CUgraph graph = nullptr;
    return ASK("cuStreamEndCapture", cuStreamEndCapture)(stream, &graph);
}

CUstream begin_on_new_stream() {
    const CUstream stream = make_stream();
    begin(stream);
    return stream;
}

void lose_with_stream() {
    destroy(begin_on_new_stream());
    allocate();
}

void lose_into_graph() {
    const CUstream stream = make_stream();
    CUgraph graph = nullptr;
    must(ASK("cuGraphCreate", cuGraphCreate)(&graph, 0), "graph");
    must(ASK("cuStreamBeginCaptureToGraph", cuStreamBeginCaptureToGraph)(stream, graph, nullptr, nullptr, 0,
                                                                         CU_STREAM_CAPTURE_MODE_RELAXED),
         "begin");
    destroy(stream);
    allocate();
}

void lose_with_context() {
    CUcontext context = nullptr;
    must(ask<decltype(&cuCtxCreate_v2)>("cuCtxCreate", 3020)(&context, 0, 0), "context");
    begin_on_new_stream();
    begin(CU_STREAM_PER_THREAD);
    must(ASK("cuCtxDestroy", cuCtxDestroy_v2)(context), "destroy context");
    allocate();
}

void lose_by_reset() {
    begin_on_new_stream();
    begin(CU_STREAM_PER_THREAD);
    must(ASK("cuDevicePrimaryCtxReset", cuDevicePrimaryCtxReset_v2)(0), "reset");
    make_context();
    allocate();
}

void lose_by_release() {
    begin_on_new_stream();
    must(ASK("cuDevicePrimaryCtxRelease", cuDevicePrimaryCtxRelease_v2)(0), "release");
    make_context();
    allocate();
}

void lose_with_green_context() {
    CUdevResource resource{};
    must(ASK("cuDeviceGetDevResource", cuDeviceGetDevResource)(0, &resource, CU_DEV_RESOURCE_TYPE_SM),
         "resource");
    CUdevResourceDesc description = nullptr;
    must(ASK("cuDevResourceGenerateDesc", cuDevResourceGenerateDesc)(&description, &resource, 1),
         "description");
    CUgreenCtx green = nullptr;
    must(ASK("cuGreenCtxCreate", cuGreenCtxCreate)(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM),
         "green");
    CUstream stream = nullptr;
    must(ASK("cuGreenCtxStreamCreate", cuGreenCtxStreamCreate)(&stream, green, CU_STREAM_NON_BLOCKING, 0),
         "stream");
    begin(stream);
    must(ASK("cuGreenCtxDestroy", cuGreenCtxDestroy)(green), "destroy green");
    allocate();
}

void begin_again_where_one_was_lost() {
    const CUstream lost = begin_on_new_stream();
    destroy(lost);
    for (int i = 0; i < 1000; ++i) { // until its handle comes back
        const CUstream stream = begin_on_new_stream();
        must(end(stream), "end");
        if (stream == lost)
            break;
    }
    allocate();
}

/// One that cannot begin has not begun; one that was ruined is over when its end is called for.
void fail() {
    std::printf("legacy: %d\n", static_cast<int>(ASK("cuStreamBeginCapture", cuStreamBeginCapture_v2)(
                                    CU_STREAM_LEGACY, CU_STREAM_CAPTURE_MODE_RELAXED)));
    const CUstream stream = begin_on_new_stream();
    std::printf("wait: %d\n", static_cast<int>(ASK("cuStreamSynchronize", cuStreamSynchronize)(stream)));
    std::printf("end: %d\n", static_cast<int>(end(stream)));
    std::printf("end: %d\n", static_cast<int>(end(stream)));
    allocate();
}

/// The first end is refused, so that the capture goes on.
void refuse_end() {
    const CUstream stream = begin_on_new_stream();
    const auto control =
        reinterpret_cast<simcuda::Control* (*)()>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "simcuda_get"));
    control()->failures[0] = {1, 0, CUDA_ERROR_UNKNOWN, "cuStreamEndCapture"};
    std::printf("end: %d\n", static_cast<int>(end(stream)));
    allocate();
    must(end(stream), "end");
    allocate();
}

/// The other goes on.
void lose_one_of_two() {
    const CUstream kept = begin_on_new_stream();
    begin(CU_STREAM_PER_THREAD);
    destroy(begin_on_new_stream());
    allocate();
    must(end(kept), "end");
    allocate();
    must(end(CU_STREAM_PER_THREAD), "end");
    allocate();
}

} // namespace

int main(int, char** arguments) {
    make_context();
    return run_scenario(arguments[1], {{"stream", lose_with_stream},
                                       {"graph", lose_into_graph},
                                       {"context", lose_with_context},
                                       {"reset", lose_by_reset},
                                       {"release", lose_by_release},
                                       {"green", lose_with_green_context},
                                       {"handle", begin_again_where_one_was_lost},
                                       {"failures", fail},
                                       {"refused_end", refuse_end},
                                       {"one_of_two", lose_one_of_two}});
}
