// Streams, events and waits of the late driver.
#include "tools/simcuda/late/entry.hpp"

#include <map>

namespace simcuda::late {

namespace {

/// What each waits for; those that a graph has are simcuda's alone.
struct Event {
    unsigned long records = 0;
    bool captured = false;
    Work work{};
};
std::map<CUevent, Event>& events() {
    static auto* const only = new std::map<CUevent, Event>;
    return *only;
}

template <class Call>
CUresult record(CUevent event, CUstream stream, bool per_thread, Call call) {
    Event& known = events()[event];
    const unsigned long number = ++known.records;
    known.captured = captures(stream, per_thread);
    known.work = nullptr;
    if (event == nullptr || known.captured)
        return call();
    known.work = submit(stream_of(stream, per_thread), in_context([event, number, call] {
                            if (events()[event].records == number) // else it stands for something else by now
                                call();
                        }));
    return CUDA_SUCCESS;
}

} // namespace

LATE(cuStreamCreate, (CUstream * out, unsigned flags), {
    const CUresult answer = real(out, flags);
    if (answer == CUDA_SUCCESS)
        add_stream(*out, (flags & CU_STREAM_NON_BLOCKING) == 0);
    return answer;
})
LATE(cuStreamCreateWithPriority, (CUstream * out, unsigned flags, int priority), {
    const CUresult answer = real(out, flags, priority);
    if (answer == CUDA_SUCCESS)
        add_stream(*out, (flags & CU_STREAM_NON_BLOCKING) == 0);
    return answer;
})
LATE_PAIR(cuStreamBeginCapture_v2, _ptsz, (CUstream stream, CUstreamCaptureMode mode), {
    force(stream_of(stream, per_thread).last);
    return real(stream, mode);
})
LATE(cuStreamDestroy_v2, (CUstream stream), {
    remove_stream(stream);
    return real(stream);
})

LATE_PAIR(cuEventRecord, _ptsz, (CUevent event, CUstream stream),
          { return record(event, stream, per_thread, [=] { return real(event, stream); }); })
LATE_PAIR(cuEventRecordWithFlags, _ptsz, (CUevent event, CUstream stream, unsigned flags),
          { return record(event, stream, per_thread, [=] { return real(event, stream, flags); }); })
LATE_PAIR(cuStreamWaitEvent, _ptsz, (CUstream stream, CUevent event, unsigned flags), {
    const Event known = events()[event];
    if (known.captured)
        force(stream_of(stream, per_thread).last); // before it captures, too
    if (event == nullptr || known.captured || captures(stream, per_thread))
        return real(stream, event, flags);
    put_behind(stream_of(stream, per_thread), known.work);
    return CUDA_SUCCESS;
})
LATE(cuEventSynchronize, (CUevent event), {
    force(events()[event].work);
    return real(event);
})
LATE(cuEventQuery, (CUevent event), {
    const Work work = events()[event].work;
    if (!is_done(work) && chance(2))
        return CUDA_ERROR_NOT_READY;
    force(work);
    return real(event);
})
LATE(cuEventElapsedTime_v2, (float* out, CUevent first, CUevent last), {
    force(events()[first].work);
    force(events()[last].work);
    return real(out, first, last);
})
LATE(cuEventElapsedTime, (float* out, CUevent first, CUevent last), {
    force(events()[first].work);
    force(events()[last].work);
    return real(out, first, last);
})
LATE(cuEventDestroy_v2, (CUevent event), {
    force(events()[event].work);
    events().erase(event);
    return real(event);
})

LATE_PAIR(cuStreamSynchronize, _ptsz, (CUstream stream), {
    if (!captures(stream, per_thread))
        force(so_far(stream_of(stream, per_thread)));
    return real(stream);
})
LATE_PAIR(cuStreamQuery, _ptsz, (CUstream stream), {
    Stream& asked = stream_of(stream, per_thread);
    if (captures(stream, per_thread))
        return real(stream);
    if (!is_done(asked.last) && chance(2))
        return CUDA_ERROR_NOT_READY;
    force(so_far(asked));
    return real(stream);
})
LATE(cuCtxSynchronize_v2, (CUcontext context), {
    force_all();
    return real(context);
})
LATE(cuCtxSynchronize, (), {
    force_all();
    return real();
})
LATE(cuDevicePrimaryCtxReset_v2, (CUdevice device), {
    force_all();
    return real(device);
})
LATE(cuCtxDestroy_v2, (CUcontext context), {
    force_all();
    return real(context);
})

} // namespace simcuda::late
