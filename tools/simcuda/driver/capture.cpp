#include "tools/simcuda/driver/capture.hpp"
#include "tools/simcuda/driver/stream.hpp"

namespace simcuda {

namespace {

bool captures(const CUstream_st& stream) {
    return stream.capture != CU_STREAM_CAPTURE_STATUS_NONE;
}

void invalidate(unsigned long long capture_id) {
    for (CUstream_st* stream : driver().streams) {
        if (captures(*stream) && stream->capture_id == capture_id) {
            stream->capture = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
        }
    }
}

/// Invalidates every capture that `forbids(stream)` holds for; true if there was one.
template <class Forbids>
bool invalidate_if(Forbids forbids) {
    bool any = false;
    for (CUstream_st* stream : driver().streams) {
        if (captures(*stream) && forbids(*stream)) {
            invalidate(stream->capture_id);
            any = true;
        }
    }
    return any;
}

} // namespace

CUresult admit_operation(CUstream_st& stream, bool& captured) {
    captured = false;
    if (stream.capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED) {
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    if (stream.capture == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
        ++driver().control.captured_operations;
        captured = true;
        return CUDA_SUCCESS;
    }
    // Work in the legacy stream would make every blocking stream wait for it.
    if (stream.legacy && invalidate_if([&stream](const CUstream_st& other) {
            return other.context == stream.context && (other.flags & CU_STREAM_NON_BLOCKING) == 0;
        })) {
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    return CUDA_SUCCESS;
}

CUresult refuse_unsafe_call() {
    const Thread& thread = this_thread();
    if (thread.capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED) {
        return CUDA_SUCCESS;
    }
    const bool refused = invalidate_if([&thread](const CUstream_st& stream) {
        const bool own = stream.capture_thread == &thread;
        return (own && stream.capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED) ||
               (!own && stream.capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                thread.capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
    });
    return refused ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult refuse_stream_wait(CUstream_st& stream) {
    if (captures(stream)) {
        invalidate(stream.capture_id);
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    bool captured = false;
    return stream.legacy ? admit_operation(stream, captured) : CUDA_SUCCESS;
}

CUresult refuse_context_wait(const CUctx_st& context) {
    return invalidate_if([&context](const CUstream_st& stream) { return stream.context == &context; })
               ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
               : CUDA_SUCCESS;
}

CUresult refuse_event_wait(const CUevent_st& event) {
    if (event.captured) {
        invalidate(event.capture_id);
        return CUDA_ERROR_CAPTURED_EVENT;
    }
    return refuse_unsafe_call();
}

} // namespace simcuda

using namespace simcuda;

namespace {

CUresult begin(CUstream handle, CUstreamCaptureMode mode, bool per_thread) {
    const Guard guard(driver().mutex);
    CUstream_st* stream = resolve_stream(handle, per_thread);
    if (!stream) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (stream->legacy) {
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (captures(*stream)) {
        return CUDA_ERROR_ILLEGAL_STATE;
    }
    stream->capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    stream->capture_mode = mode;
    stream->capture_id = ++driver().ids;
    stream->capture_thread = &this_thread();
    return CUDA_SUCCESS;
}

CUresult end(CUstream handle, CUgraph* graph, bool per_thread) {
    const Guard guard(driver().mutex);
    CUstream_st* stream = resolve_stream(handle, per_thread);
    if (!stream) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (!captures(*stream)) {
        return CUDA_ERROR_ILLEGAL_STATE;
    }
    if (stream->capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED && stream->capture_thread != &this_thread()) {
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    }
    const bool valid = stream->capture == CU_STREAM_CAPTURE_STATUS_ACTIVE;
    const unsigned long long ended = stream->capture_id;
    for (CUstream_st* other : driver().streams) {
        if (captures(*other) && other->capture_id == ended) {
            other->capture = CU_STREAM_CAPTURE_STATUS_NONE;
            other->capture_id = 0;
        }
    }
    *graph = valid ? new CUgraph_st : nullptr;
    return valid ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

CUresult status(CUstream handle, bool per_thread, CUstreamCaptureStatus* answer, cuuint64_t* id) {
    const Guard guard(driver().mutex);
    CUstream_st* stream = resolve_stream(handle, per_thread);
    if (!stream || !answer) {
        return stream ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    }
    bool captured = false;
    if (stream->legacy) {
        // Asking about the legacy stream is itself refused while a blocking stream captures, without harm to
        // it.
        for (const CUstream_st* other : driver().streams) {
            captured = captured || (captures(*other) && (other->flags & CU_STREAM_NON_BLOCKING) == 0);
        }
    }
    *answer = stream->capture;
    if (id) {
        *id = stream->capture_id;
    }
    return captured ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

} // namespace

SIMCUDA_STREAM_PAIR(cuStreamBeginCapture, _ptsz, (CUstream stream),
                    return begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL, per_thread);)
SIMCUDA_STREAM_PAIR(cuStreamBeginCapture_v2, _ptsz, (CUstream stream, CUstreamCaptureMode mode),
                    return begin(stream, mode, per_thread);)
SIMCUDA_STREAM_PAIR(cuStreamEndCapture, _ptsz, (CUstream stream, CUgraph* graph),
                    return end(stream, graph, per_thread);)
SIMCUDA_STREAM_PAIR(cuStreamIsCapturing, _ptsz, (CUstream stream, CUstreamCaptureStatus* answer),
                    return status(stream, per_thread, answer, nullptr);)
SIMCUDA_STREAM_PAIR(cuStreamGetCaptureInfo, _ptsz,
                    (CUstream stream, CUstreamCaptureStatus* answer, cuuint64_t* id),
                    return status(stream, per_thread, answer, id);)

extern "C" CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    SIMCUDA_ENTER(Entry::cuThreadExchangeStreamCaptureMode, Needs::initialization)
    std::swap(*mode, this_thread().capture_mode);
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuGraphDestroy(CUgraph graph) {
    SIMCUDA_ENTER(Entry::cuGraphDestroy)
    delete graph;
    return CUDA_SUCCESS;
}
