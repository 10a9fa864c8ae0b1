// Events carry the time at which their stream gets to them.
#include "tools/simcuda/driver/capture.hpp"
#include "tools/simcuda/driver/graph.hpp"
#include "tools/simcuda/driver/pool.hpp"
#include "tools/simcuda/driver/stream.hpp"

#include <algorithm>

using namespace simcuda;

namespace {

CUresult record(CUevent event, CUstream handle, bool per_thread, unsigned flags = 0) {
    const Guard guard(driver().mutex);
    CUstream_st* stream = resolve_stream(handle, per_thread);
    if (!stream || !driver().events.contains(event)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    bool captured = false;
    if (const CUresult refused = admit_operation(*stream, captured)) {
        return refused;
    }
    if (captured && (flags & CU_EVENT_RECORD_EXTERNAL)) {
        return capture_work(*stream, EventRecordWork{event});
    }
    if (captured) {
        record_captured(*event, *stream);
    } else {
        event->captured = false;
        event->recorded = true;
        event->time = earliest_start(*stream, Engine::none);
        occupy(*stream, Engine::none, event->time);
    }
    return CUDA_SUCCESS;
}

CUresult wait(CUstream handle, CUevent event, bool per_thread, unsigned flags) {
    const Guard guard(driver().mutex);
    CUstream_st* stream = resolve_stream(handle, per_thread);
    if (!stream || !driver().events.contains(event)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (stream->capture == CU_STREAM_CAPTURE_STATUS_ACTIVE && (flags & CU_EVENT_WAIT_EXTERNAL)) {
        return capture_work(*stream, EventWaitWork{event});
    }
    if (CUresult answer = CUDA_SUCCESS; wait_captured(*stream, *event, answer)) {
        return answer;
    }
    bool captured = false;
    if (const CUresult refused = admit_operation(*stream, captured); refused || captured) {
        return refused;
    }
    if (event->recorded) {
        occupy(*stream, Engine::none, event->time);
    }
    return CUDA_SUCCESS;
}

CUresult elapsed(float* milliseconds, CUevent start, CUevent end) {
    const Guard guard(driver().mutex);
    const auto& events = driver().events;
    if (!events.contains(start) || !events.contains(end) || !start->recorded || !end->recorded ||
        ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (std::max(start->time, end->time) > driver().clock.now()) {
        return CUDA_ERROR_NOT_READY;
    }
    *milliseconds =
        static_cast<float>((static_cast<double>(end->time) - static_cast<double>(start->time)) / 1e6);
    return CUDA_SUCCESS;
}

} // namespace

extern "C" CUresult CUDAAPI cuEventCreate(CUevent* event, unsigned flags) {
    SIMCUDA_ENTER(Entry::cuEventCreate)
    if (!event) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Guard guard(driver().mutex);
    auto* made = new CUevent_st;
    made->context = current_context();
    made->flags = flags;
    driver().events.insert(made);
    *event = made;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuEventDestroy_v2(CUevent event) {
    SIMCUDA_ENTER(Entry::cuEventDestroy_v2)
    const Guard guard(driver().mutex);
    if (driver().events.erase(event) == 0) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    delete event;
    return CUDA_SUCCESS;
}

SIMCUDA_STREAM_PAIR(cuEventRecord, _ptsz, (CUevent event, CUstream stream),
                    return record(event, stream, per_thread);)

SIMCUDA_STREAM_PAIR(cuEventRecordWithFlags, _ptsz, (CUevent event, CUstream stream, unsigned flags),
                    return record(event, stream, per_thread, flags);)

SIMCUDA_STREAM_PAIR(cuStreamWaitEvent, _ptsz, (CUstream stream, CUevent event, unsigned flags),
                    return wait(stream, event, per_thread, flags);)

extern "C" CUresult CUDAAPI cuEventQuery(CUevent event) {
    SIMCUDA_ENTER(Entry::cuEventQuery)
    const Guard guard(driver().mutex);
    if (!driver().events.contains(event)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (const CUresult refused = refuse_event_wait(*event)) {
        return refused;
    }
    if (!event->recorded || event->time <= driver().clock.now()) {
        return CUDA_SUCCESS;
    }
    driver().clock.advance(driver().prices.query_call);
    return CUDA_ERROR_NOT_READY;
}

extern "C" CUresult CUDAAPI cuEventSynchronize(CUevent event) {
    SIMCUDA_ENTER(Entry::cuEventSynchronize)
    const Guard guard(driver().mutex);
    if (!driver().events.contains(event)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (const CUresult refused = refuse_event_wait(*event)) {
        return refused;
    }
    ++driver().control.synchronizations;
    if (event->recorded) {
        driver().clock.advance_to(event->time);
    }
    trim_pools();
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
    SIMCUDA_ENTER(Entry::cuEventElapsedTime)
    return elapsed(milliseconds, start, end);
}

extern "C" CUresult CUDAAPI cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
    SIMCUDA_ENTER(Entry::cuEventElapsedTime_v2)
    return elapsed(milliseconds, start, end);
}
