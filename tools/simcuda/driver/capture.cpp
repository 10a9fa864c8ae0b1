#include "tools/simcuda/driver/capture.hpp"
#include "tools/simcuda/driver/graph.hpp"
#include "tools/simcuda/driver/stream.hpp"

#include <algorithm>
#include <cerrno>

namespace simcuda {

namespace {

/// A capture sequence: the streams drawn into it carry its id.
struct Capture {
    CUgraph_st* graph;
    std::shared_ptr<CUgraph_st> made; ///< the same, unless the program gave it (cuStreamBeginCaptureToGraph)
    const CUstream_st* origin;
};

std::map<unsigned long long, Capture>& sequences() {
    static auto* only = new std::map<unsigned long long, Capture>;
    return *only;
}

void append(std::vector<CUgraphNode_st*>& to, const std::vector<CUgraphNode_st*>& more) {
    for (CUgraphNode_st* node : more) {
        if (std::ranges::find(to, node) == to.end()) {
            to.push_back(node);
        }
    }
}

/// Whether all of `nodes` come before or are among `tail`.
bool joined(const std::vector<CUgraphNode_st*>& nodes, const std::vector<CUgraphNode_st*>& tail) {
    std::unordered_set<const CUgraphNode_st*> seen(tail.begin(), tail.end());
    std::vector<const CUgraphNode_st*> open(tail.begin(), tail.end());
    while (!open.empty()) {
        const CUgraphNode_st* node = open.back();
        open.pop_back();
        for (const CUgraphNode_st* before : node->dependencies) {
            if (seen.insert(before).second) {
                open.push_back(before);
            }
        }
    }
    return std::ranges::all_of(nodes, [&seen](const auto* node) { return seen.contains(node); });
}

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

/// All streams of the capture stop capturing.
void leave_capture(unsigned long long capture_id) {
    for (CUstream_st* stream : driver().streams) {
        if (captures(*stream) && stream->capture_id == capture_id) {
            stream->capture = CU_STREAM_CAPTURE_STATUS_NONE;
            stream->capture_id = 0;
            stream->capture_tail.clear();
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

CUresult capture_work(CUstream_st& stream, Work work) {
    CUgraph_st& graph = *sequences().at(stream.capture_id).graph;
    const CUgraphNode node =
        add_node(graph, std::move(work), stream.capture_tail.data(), stream.capture_tail.size());
    if (!node) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    stream.capture_tail = {node};
    return CUDA_SUCCESS;
}

void record_captured(CUevent_st& event, const CUstream_st& stream) {
    event.captured = true;
    event.capture_id = stream.capture_id;
    event.capture_tail = stream.capture_tail;
}

void drop_capture(const CUstream_st& stream) {
    const auto sequence = sequences().find(stream.capture_id);
    if (captures(stream) && sequence != sequences().end() && sequence->second.origin == &stream) {
        leave_capture(sequence->first);
        sequences().erase(sequence);
    }
}

bool wait_captured(CUstream_st& stream, CUevent_st& event, CUresult& answer) {
    if (!event.captured) {
        if (stream.capture == CU_STREAM_CAPTURE_STATUS_ACTIVE && event.recorded) {
            invalidate(stream.capture_id); // a dependency on work that no graph will know
            answer = CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
            return true;
        }
        return false;
    }
    const auto sequence = sequences().find(event.capture_id);
    if (sequence == sequences().end()) {
        answer = CUDA_ERROR_CAPTURED_EVENT;
        return true;
    }
    if (stream.legacy || stream.capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED) {
        return false;
    }
    if (captures(stream) && stream.capture_id != event.capture_id) {
        invalidate(stream.capture_id);
        invalidate(event.capture_id);
        answer = CUDA_ERROR_STREAM_CAPTURE_MERGE;
        return true;
    }
    // Waiting for a captured event draws the stream into the same capture.
    if (!captures(stream)) {
        const CUstream_st& origin = *sequence->second.origin;
        stream.capture = origin.capture;
        stream.capture_mode = origin.capture_mode;
        stream.capture_id = event.capture_id;
        stream.capture_thread = origin.capture_thread;
        stream.capture_tail.clear();
    }
    append(stream.capture_tail, event.capture_tail);
    answer = CUDA_SUCCESS;
    return true;
}

} // namespace simcuda

using namespace simcuda;

namespace {

CUresult begin(CUstream handle, CUstreamCaptureMode mode, bool per_thread, CUgraph into = nullptr,
               const CUgraphNode* dependencies = nullptr, std::size_t count = 0) {
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
    stream->capture_tail.assign(dependencies, dependencies + count);
    Capture& sequence = sequences()[stream->capture_id];
    sequence.made = into ? nullptr : make_graph();
    sequence.graph = into ? into : sequence.made.get();
    sequence.origin = stream;
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
    const unsigned long long ended = stream->capture_id;
    Capture& sequence = sequences().at(ended);
    if (sequence.origin != stream) {
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    }
    if (stream->capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED && stream->capture_thread != &this_thread()) {
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    }
    CUresult answer = stream->capture == CU_STREAM_CAPTURE_STATUS_ACTIVE
                          ? CUDA_SUCCESS
                          : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    for (const CUstream_st* other : driver().streams) {
        if (answer == CUDA_SUCCESS && captures(*other) && other->capture_id == ended &&
            !joined(other->capture_tail, stream->capture_tail)) {
            answer = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
        }
    }
    leave_capture(ended);
    CUgraph_st* const given = sequence.graph;
    const auto made = std::move(sequence.made);
    sequences().erase(ended);
    *graph = answer != CUDA_SUCCESS ? nullptr : made ? give_graph(made) : given;
    return answer;
}

/// What the later forms of cuStreamGetCaptureInfo tell beyond the status.
CUresult details(CUstream handle, bool per_thread, CUgraph* graph, const CUgraphNode** nodes,
                 const CUgraphEdgeData** edges, std::size_t* count) {
    const Guard guard(driver().mutex);
    CUstream_st* stream = resolve_stream(handle, per_thread);
    const auto sequence =
        stream && captures(*stream) ? sequences().find(stream->capture_id) : sequences().end();
    const bool active = sequence != sequences().end();
    if (graph) {
        *graph = active ? sequence->second.graph : nullptr;
    }
    if (nodes) {
        *nodes = active ? stream->capture_tail.data() : nullptr;
    }
    if (edges) {
        *edges = nullptr;
    }
    if (count) {
        *count = active ? stream->capture_tail.size() : 0;
    }
    return CUDA_SUCCESS;
}

CUresult update(CUstream handle, bool per_thread, const CUgraphNode* nodes, std::size_t count, unsigned flags) {
    const Guard guard(driver().mutex);
    CUstream_st* stream = resolve_stream(handle, per_thread);
    if (!stream || stream->capture != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
        return CUDA_ERROR_ILLEGAL_STATE;
    }
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
        stream->capture_tail.clear();
    }
    append(stream->capture_tail, {nodes, nodes + count});
    return CUDA_SUCCESS;
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
                    errno = EAGAIN; // a driver may change it: that of its own calls the program must not see
                    return status(stream, per_thread, answer, nullptr);)
SIMCUDA_STREAM_PAIR(cuStreamGetCaptureInfo, _ptsz,
                    (CUstream stream, CUstreamCaptureStatus* answer, cuuint64_t* id),
                    return status(stream, per_thread, answer, id);)

extern "C" CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    SIMCUDA_ENTER(Entry::cuThreadExchangeStreamCaptureMode, Needs::initialization)
    std::swap(*mode, this_thread().capture_mode);
    return CUDA_SUCCESS;
}

SIMCUDA_STREAM_PAIR(cuStreamBeginCaptureToGraph, _ptsz,
                    (CUstream stream, CUgraph graph, const CUgraphNode* nodes, const CUgraphEdgeData*,
                     size_t count, CUstreamCaptureMode mode),
                    return begin(stream, mode, per_thread, graph, nodes, count);)
SIMCUDA_STREAM_PAIR(cuStreamGetCaptureInfo_v2, _ptsz,
                    (CUstream stream, CUstreamCaptureStatus* answer, cuuint64_t* id, CUgraph* graph,
                     const CUgraphNode** nodes, size_t* count),
                    {
                        const CUresult failed = status(stream, per_thread, answer, id);
                        return failed ? failed : details(stream, per_thread, graph, nodes, nullptr, count);
                    })
SIMCUDA_STREAM_PAIR(cuStreamGetCaptureInfo_v3, _ptsz,
                    (CUstream stream, CUstreamCaptureStatus* answer, cuuint64_t* id, CUgraph* graph,
                     const CUgraphNode** nodes, const CUgraphEdgeData** edges, size_t* count),
                    {
                        const CUresult failed = status(stream, per_thread, answer, id);
                        return failed ? failed : details(stream, per_thread, graph, nodes, edges, count);
                    })
SIMCUDA_STREAM_PAIR(cuStreamUpdateCaptureDependencies, _ptsz,
                    (CUstream stream, CUgraphNode* nodes, size_t count, unsigned flags),
                    return update(stream, per_thread, nodes, count, flags);)
SIMCUDA_STREAM_PAIR(cuStreamUpdateCaptureDependencies_v2, _ptsz,
                    (CUstream stream, CUgraphNode* nodes, const CUgraphEdgeData*, size_t count, unsigned flags),
                    return update(stream, per_thread, nodes, count, flags);)
