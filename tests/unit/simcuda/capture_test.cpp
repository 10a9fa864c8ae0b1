#include "tests/unit/simcuda/driver_library.hpp"

BOOST_AUTO_TEST_SUITE(simcuda_capture)

using namespace simcuda;

struct CaptureFixture : DriverFixture {
    void begin(CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
        DO(cuStreamBeginCapture_v2, stream, mode);
    }
    CUstreamCaptureStatus status() {
        CUstreamCaptureStatus answer{};
        DO(cuStreamIsCapturing, stream, &answer);
        return answer;
    }
    CUresult end() {
        CUgraph graph = nullptr;
        const CUresult answer = DRIVER(cuStreamEndCapture)(stream, &graph);
        BOOST_TEST((graph != nullptr) == (answer == CUDA_SUCCESS));
        if (graph)
            DRIVER(cuGraphDestroy)(graph);
        return answer;
    }
    const CUstream stream = make_stream();
    const CUdeviceptr device = allocate(4096);
    void* const host = pin(4096);
};

BOOST_FIXTURE_TEST_SUITE(capture, CaptureFixture)

BOOST_AUTO_TEST_CASE(records_instead_of_running) {
    static_cast<unsigned char*>(host)[0] = 42;
    DRIVER(cuMemsetD8_v2)(device, 1, 4096);
    begin();
    BOOST_TEST(status() == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    DO(cuMemcpyHtoDAsync_v2, device, host, 4096, stream);
    BOOST_TEST(end() == CUDA_SUCCESS);
    BOOST_TEST(status() == CU_STREAM_CAPTURE_STATUS_NONE);
    DRIVER(cuMemcpyDtoH_v2)(host, device, 1);
    BOOST_TEST(int(static_cast<unsigned char*>(host)[0]) == 1);
}

BOOST_AUTO_TEST_CASE(waiting_for_the_stream_invalidates) {
    begin();
    BOOST_TEST(DRIVER(cuStreamSynchronize)(stream) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    BOOST_TEST(status() == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    BOOST_TEST(end() == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

BOOST_AUTO_TEST_CASE(so_do_context_waits_queries_and_prefetches) {
    begin();
    BOOST_TEST(DRIVER(cuCtxSynchronize)() == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    BOOST_TEST(end() == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin();
    BOOST_TEST(DRIVER(cuStreamQuery)(stream) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    BOOST_TEST(end() == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    const CUdeviceptr managed = allocate_managed(4096);
    begin();
    BOOST_TEST(DRIVER(cuMemPrefetchAsync)(managed, 4096, 0, stream) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    BOOST_TEST(end() == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

BOOST_AUTO_TEST_CASE(allocation_is_unsafe_unless_relaxed) {
    begin();
    CUdeviceptr made = 0;
    BOOST_TEST(DRIVER(cuMemAlloc_v2)(&made, 512) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    BOOST_TEST(end() == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    allocate(512);
    BOOST_TEST(end() == CUDA_SUCCESS);
    begin();
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    DRIVER(cuThreadExchangeStreamCaptureMode)(&mode);
    allocate(512);
    DRIVER(cuThreadExchangeStreamCaptureMode)(&mode);
    BOOST_TEST(end() == CUDA_SUCCESS);
}

BOOST_AUTO_TEST_CASE(a_captured_event_cannot_be_queried) {
    const CUevent event = make_event();
    begin();
    DO(cuEventRecord, event, stream);
    BOOST_TEST(DRIVER(cuEventQuery)(event) == CUDA_ERROR_CAPTURED_EVENT);
    BOOST_TEST(end() == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

BOOST_AUTO_TEST_CASE(the_legacy_stream_must_stay_out_of_blocking_captures) {
    const CUstream blocking = make_stream(CU_STREAM_DEFAULT);
    DRIVER(cuStreamBeginCapture_v2)(blocking, CU_STREAM_CAPTURE_MODE_RELAXED);
    BOOST_TEST(DRIVER(cuMemcpyHtoDAsync_v2)(device, host, 4096, nullptr) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    CUgraph graph = nullptr;
    BOOST_TEST(DRIVER(cuStreamEndCapture)(blocking, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

BOOST_AUTO_TEST_CASE(a_capture_goes_with_its_stream) {
    const CUevent event = make_event();
    CUstream lost = nullptr;
    DRIVER(cuStreamCreate)(&lost, 0);
    DRIVER(cuStreamBeginCapture_v2)(lost, CU_STREAM_CAPTURE_MODE_GLOBAL);
    DRIVER(cuEventRecord)(event, lost);
    DO(cuStreamWaitEvent, stream, event, 0);
    BOOST_TEST(status() == CU_STREAM_CAPTURE_STATUS_ACTIVE); // drawn in
    DO(cuStreamDestroy_v2, lost);
    BOOST_TEST(status() == CU_STREAM_CAPTURE_STATUS_NONE);
    BOOST_TEST(DRIVER(cuStreamWaitEvent)(stream, event, 0) == CUDA_ERROR_CAPTURED_EVENT);
    // What a capture would forbid.
    DO(cuMemcpyHtoDAsync_v2, allocate(4096), host, 4096, nullptr);
    begin();
    BOOST_TEST(end() == CUDA_SUCCESS);
}

BOOST_AUTO_TEST_CASE(captures_go_with_their_context) {
    CUcontext other = nullptr;
    DRIVER(cuCtxCreate_v2)(&other, 0, 0);
    CUstream lost = nullptr;
    DRIVER(cuStreamCreate)(&lost, CU_STREAM_NON_BLOCKING);
    for (const CUstream each : {lost, CU_STREAM_PER_THREAD})
        DO(cuStreamBeginCapture_v2, each, CU_STREAM_CAPTURE_MODE_GLOBAL);
    DO(cuCtxDestroy_v2, other);
    allocate(4096);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
