// The same launches into a capture and beside it, without a capture, and into another one.
#include "driver_program.hpp"

int main() {
    make_context();
    const CUfunction kernel = load_count_up();
    CUdeviceptr memory = 0;
    must(ASK("cuMemAlloc", cuMemAlloc_v2)(&memory, 4096), "memory");
    CUstream streams[2];
    for (CUstream& stream : streams)
        must(ASK("cuStreamCreate", cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "stream");
    unsigned count = 1;
    void* parameters[]{&memory, &count};
    const auto launch = [&, call = ASK("cuLaunchKernel", cuLaunchKernel)](CUstream stream) {
        must(call(kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr), "launch");
    };
    for (const bool captures : {true, false, true}) { // from the same call site
        if (captures)
            must(ASK("cuStreamBeginCapture", cuStreamBeginCapture_v2)(streams[0],
                                                                      CU_STREAM_CAPTURE_MODE_RELAXED),
                 "begin");
        for (int i = 0; i < 500; ++i)
            launch(streams[i % 5 == 4]);
        CUgraph graph = nullptr;
        if (captures)
            must(ASK("cuStreamEndCapture", cuStreamEndCapture)(streams[0], &graph), "end");
    }
}
