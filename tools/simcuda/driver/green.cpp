// Green contexts: a part of a device's multiprocessors with streams of its own, and a context made from it.
#include "tools/simcuda/driver/stream.hpp"

#include <algorithm>
#include <unordered_set>

struct CUgreenCtx_st {
    CUctx_st context;
};

struct CUdevResourceDesc_st {
    unsigned multiprocessors = 0;
};

using namespace simcuda;

namespace {

constexpr unsigned multiprocessors = 132;

std::unordered_set<CUgreenCtx>& green_contexts() {
    static auto* only = new std::unordered_set<CUgreenCtx>;
    return *only;
}

/// The event happens when all streams of the context have got here; all of them wait for it.
CUresult record_event(CUctx_st& context, CUevent event) {
    if (!driver().events.contains(event)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    event->recorded = true;
    event->captured = false;
    event->time = std::max(driver().clock.now(), context_end(context));
    return CUDA_SUCCESS;
}

CUresult wait_event(const CUctx_st& context, CUevent event) {
    if (!driver().events.contains(event)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    for (CUstream_st* stream : driver().streams) {
        if (stream->context == &context && event->recorded) {
            occupy(*stream, Engine::none, event->time);
        }
    }
    return CUDA_SUCCESS;
}

template <class Act>
CUresult with_green(CUgreenCtx green, Act act) {
    const Guard guard(driver().mutex);
    return green_contexts().contains(green) ? act(green->context) : CUDA_ERROR_INVALID_CONTEXT;
}

template <class Act>
CUresult with_context(CUcontext context, Act act) {
    const Guard guard(driver().mutex);
    return driver().contexts.contains(context) ? act(*context) : CUDA_ERROR_INVALID_CONTEXT;
}

} // namespace

extern "C" CUresult CUDAAPI cuDeviceGetDevResource(CUdevice device, CUdevResource* out,
                                                   CUdevResourceType type) {
    SIMCUDA_ENTER(Entry::cuDeviceGetDevResource, Needs::initialization)
    if (device < 0 || device >= static_cast<int>(driver().devices.size())) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    if (!out || type != CU_DEV_RESOURCE_TYPE_SM) {
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    }
    *out = {};
    out->type = type;
    out->sm.smCount = multiprocessors;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuDevResourceGenerateDesc(CUdevResourceDesc* out, CUdevResource* resources,
                                                      unsigned count) {
    SIMCUDA_ENTER(Entry::cuDevResourceGenerateDesc, Needs::initialization)
    if (!out || !resources || count != 1) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *out = new CUdevResourceDesc_st{resources->sm.smCount};
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuGreenCtxCreate(CUgreenCtx* out, CUdevResourceDesc description, CUdevice device,
                                             unsigned flags) {
    SIMCUDA_ENTER(Entry::cuGreenCtxCreate, Needs::initialization)
    Driver& state = driver();
    const Guard guard(state.mutex);
    if (!out || !description || (flags & CU_GREEN_CTX_DEFAULT_STREAM) == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (device < 0 || device >= static_cast<int>(state.devices.size())) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *out = new CUgreenCtx_st;
    (*out)->context.device = device;
    (*out)->context.green = *out;
    (*out)->context.id = ++state.ids;
    green_contexts().insert(*out);
    // It keeps the device's primary context.
    use_primary(state.devices[static_cast<std::size_t>(device)]);
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuGreenCtxDestroy(CUgreenCtx green) {
    SIMCUDA_ENTER(Entry::cuGreenCtxDestroy, Needs::initialization)
    CUdevice device = 0;
    {
        const Guard guard(driver().mutex);
        if (green_contexts().erase(green) == 0) {
            return CUDA_ERROR_INVALID_CONTEXT;
        }
        // Its memory stays, and its streams are the program's to destroy: so it is kept for them to point to.
        device = green->context.device;
        drop_captures(green->context);
        driver().contexts.erase(&green->context);
        Thread& thread = this_thread();
        if (thread.depth && thread.contexts[thread.depth - 1] == &green->context) {
            --thread.depth;
        }
    }
    return cuDevicePrimaryCtxRelease_v2(device);
}

extern "C" CUresult CUDAAPI cuCtxFromGreenCtx(CUcontext* out, CUgreenCtx green) {
    SIMCUDA_ENTER(Entry::cuCtxFromGreenCtx, Needs::initialization)
    return with_green(green, [out](CUctx_st& context) {
        driver().contexts.insert(&context);
        *out = &context;
        return CUDA_SUCCESS;
    });
}

extern "C" CUresult CUDAAPI cuGreenCtxStreamCreate(CUstream* out, CUgreenCtx green, unsigned flags,
                                                   int priority) {
    SIMCUDA_ENTER(Entry::cuGreenCtxStreamCreate, Needs::initialization)
    if (!out || flags != CU_STREAM_NON_BLOCKING) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return with_green(green, [=](CUctx_st& context) {
        *out = make_stream(context, flags, priority);
        return CUDA_SUCCESS;
    });
}

extern "C" CUresult CUDAAPI cuGreenCtxRecordEvent(CUgreenCtx green, CUevent event) {
    SIMCUDA_ENTER(Entry::cuGreenCtxRecordEvent, Needs::initialization)
    return with_green(green, [event](CUctx_st& context) { return record_event(context, event); });
}

extern "C" CUresult CUDAAPI cuGreenCtxWaitEvent(CUgreenCtx green, CUevent event) {
    SIMCUDA_ENTER(Entry::cuGreenCtxWaitEvent, Needs::initialization)
    return with_green(green, [event](CUctx_st& context) { return wait_event(context, event); });
}

extern "C" CUresult CUDAAPI cuCtxRecordEvent(CUcontext context, CUevent event) {
    SIMCUDA_ENTER(Entry::cuCtxRecordEvent, Needs::initialization)
    return with_context(context, [event](CUctx_st& of) { return record_event(of, event); });
}

extern "C" CUresult CUDAAPI cuCtxWaitEvent(CUcontext context, CUevent event) {
    SIMCUDA_ENTER(Entry::cuCtxWaitEvent, Needs::initialization)
    return with_context(context, [event](CUctx_st& of) { return wait_event(of, event); });
}
