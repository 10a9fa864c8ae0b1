#include "tools/simcuda/driver/stream.hpp"
#include "tools/simcuda/driver/capture.hpp"
#include "tools/simcuda/driver/graph.hpp"
#include "tools/simcuda/driver/pool.hpp"

#include <algorithm>

namespace simcuda {

namespace {

Nanoseconds* engine_time(int device, Engine engine) {
    Device& owner = driver().devices[static_cast<std::size_t>(device)];
    switch (engine) {
    case Engine::compute:
        return &owner.compute_free;
    case Engine::to_device:
        return &owner.to_device_free;
    case Engine::to_host:
        return &owner.to_host_free;
    case Engine::none:
        break;
    }
    return nullptr;
}

bool blocks(const CUstream_st& stream) {
    return !stream.legacy && (stream.flags & CU_STREAM_NON_BLOCKING) == 0;
}

CUstream_st* legacy_stream(CUctx_st& context) {
    if (!context.legacy) {
        context.legacy = make_stream(context, 0, 0);
        context.legacy->legacy = true;
    }
    return context.legacy;
}

} // namespace

CUstream_st* make_stream(CUctx_st& context, unsigned flags, int priority) {
    auto* stream = new CUstream_st;
    stream->context = &context;
    stream->flags = flags;
    stream->priority = priority;
    stream->id = ++driver().ids;
    driver().streams.insert(stream);
    return stream;
}

void drop_captures(const CUctx_st& context) {
    for (const CUstream_st* stream : driver().streams) {
        if (stream->context == &context) {
            drop_capture(*stream);
        }
    }
}

void forget_streams(CUctx_st& context) {
    drop_captures(context);
    std::erase_if(driver().streams, [&context](CUstream_st* stream) {
        if (stream->context != &context) {
            return false;
        }
        delete stream;
        return true;
    });
    context.legacy = nullptr;
}

CUstream_st* resolve_stream(CUstream handle, bool per_thread) {
    if (handle && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD) {
        return driver().streams.contains(handle) ? handle : nullptr;
    }
    CUctx_st& context = *current_context();
    if (handle == CU_STREAM_LEGACY || (!handle && !per_thread)) {
        return legacy_stream(context);
    }
    Thread& thread = this_thread();
    if (thread.own_stream_context != &context || !driver().streams.contains(thread.own_stream)) {
        thread.own_stream = make_stream(context, 0, 0);
        thread.own_stream_context = &context;
    }
    return thread.own_stream;
}

Nanoseconds earliest_start(const CUstream_st& stream, Engine engine) {
    Nanoseconds start = std::max(driver().clock.now(), stream.end);
    if (const Nanoseconds* free = engine_time(stream.context->device, engine)) {
        start = std::max(start, *free);
    }
    // The legacy default stream and the blocking streams of its context wait for one another.
    if (stream.legacy) {
        for (const CUstream_st* other : driver().streams) {
            if (other->context == stream.context && blocks(*other)) {
                start = std::max(start, other->end);
            }
        }
    } else if (blocks(stream) && stream.context->legacy) {
        start = std::max(start, stream.context->legacy->end);
    }
    return start;
}

void occupy(CUstream_st& stream, Engine engine, Nanoseconds end) {
    stream.end = std::max(stream.end, end);
    if (Nanoseconds* free = engine_time(stream.context->device, engine)) {
        *free = std::max(*free, end);
    }
}

Nanoseconds enqueue(CUstream_st& stream, Engine engine, Nanoseconds duration) {
    const Nanoseconds end = earliest_start(stream, engine) + duration;
    occupy(stream, engine, end);
    return end;
}

Nanoseconds context_end(const CUctx_st& context) {
    Nanoseconds end = 0;
    for (const CUstream_st* stream : driver().streams) {
        if (stream->context == &context) {
            end = std::max(end, stream->end);
        }
    }
    return end;
}

} // namespace simcuda

using namespace simcuda;

namespace {

CUresult create(CUstream* stream, unsigned flags, int priority) {
    if (!stream || (flags & ~static_cast<unsigned>(CU_STREAM_NON_BLOCKING))) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Guard guard(driver().mutex);
    *stream = make_stream(*current_context(), flags, priority);
    return CUDA_SUCCESS;
}

/// Runs `read(stream)` on a resolved stream under the lock.
template <class Read>
CUresult with_stream(CUstream handle, bool per_thread, Read read) {
    const Guard guard(driver().mutex);
    CUstream_st* stream = resolve_stream(handle, per_thread);
    return stream ? read(*stream) : CUDA_ERROR_INVALID_HANDLE;
}

// A query takes a moment, so a loop that polls gets there.
CUresult reached(Nanoseconds then) {
    Clock& clock = driver().clock;
    if (clock.now() >= then) {
        return CUDA_SUCCESS;
    }
    clock.advance(driver().prices.query_call);
    return CUDA_ERROR_NOT_READY;
}

} // namespace

extern "C" CUresult CUDAAPI cuStreamCreate(CUstream* stream, unsigned flags) {
    SIMCUDA_ENTER(Entry::cuStreamCreate, Needs::context, driver().prices.stream_create_call)
    return create(stream, flags, 0);
}

extern "C" CUresult CUDAAPI cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
    SIMCUDA_ENTER(Entry::cuStreamCreateWithPriority)
    return create(stream, flags, std::clamp(priority, -5, 0));
}

extern "C" CUresult CUDAAPI cuStreamDestroy_v2(CUstream handle) {
    SIMCUDA_ENTER(Entry::cuStreamDestroy_v2, Needs::context, driver().prices.stream_destroy_call)
    Driver& state = driver();
    const Guard guard(state.mutex);
    if (!state.streams.contains(handle) || handle->legacy) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    // Work that still runs goes on; whoever waits for the context waits for it too.
    occupy(*resolve_stream(CU_STREAM_PER_THREAD, true), Engine::none, handle->end);
    drop_capture(*handle);
    state.streams.erase(handle);
    delete handle;
    return CUDA_SUCCESS;
}

SIMCUDA_STREAM_PAIR(cuStreamSynchronize, _ptsz, (CUstream handle),
                    return with_stream(handle, per_thread, [](CUstream_st& stream) {
                        if (const CUresult refused = refuse_stream_wait(stream)) {
                            return refused;
                        }
                        ++driver().control.synchronizations;
                        driver().clock.advance_to(earliest_start(stream, Engine::none));
                        trim_pools();
                        return stream.context->sticky;
                    });)

SIMCUDA_STREAM_PAIR(cuStreamQuery, _ptsz, (CUstream handle),
                    return with_stream(handle, per_thread, [](CUstream_st& stream) {
                        const CUresult refused = refuse_stream_wait(stream);
                        return refused ? refused : reached(earliest_start(stream, Engine::none));
                    });)

SIMCUDA_STREAM_PAIR(cuStreamGetFlags, _ptsz, (CUstream handle, unsigned* flags),
                    return with_stream(handle, per_thread, [flags](CUstream_st& stream) {
                        *flags = stream.flags;
                        return CUDA_SUCCESS;
                    });)

SIMCUDA_STREAM_PAIR(cuStreamGetPriority, _ptsz, (CUstream handle, int* priority),
                    return with_stream(handle, per_thread, [priority](CUstream_st& stream) {
                        *priority = stream.priority;
                        return CUDA_SUCCESS;
                    });)

SIMCUDA_STREAM_PAIR(cuStreamGetId, _ptsz, (CUstream handle, unsigned long long* id),
                    return with_stream(handle, per_thread, [id](CUstream_st& stream) {
                        *id = stream.id;
                        return CUDA_SUCCESS;
                    });)

SIMCUDA_STREAM_PAIR(cuStreamGetCtx, _ptsz, (CUstream handle, CUcontext* context),
                    return with_stream(handle, per_thread, [context](CUstream_st& stream) {
                        *context = stream.context;
                        return CUDA_SUCCESS;
                    });)

SIMCUDA_STREAM_PAIR(cuStreamGetCtx_v2, _ptsz, (CUstream handle, CUcontext* context, CUgreenCtx* green),
                    return with_stream(handle, per_thread, [=](CUstream_st& stream) {
                        *green = stream.context->green;
                        *context = *green ? &driver().devices[stream.context->device].primary : stream.context;
                        return CUDA_SUCCESS;
                    });)

SIMCUDA_STREAM_PAIR(cuStreamGetDevice, _ptsz, (CUstream handle, CUdevice* device),
                    return with_stream(handle, per_thread, [device](CUstream_st& stream) {
                        *device = stream.context->device;
                        return CUDA_SUCCESS;
                    });)

// Devices here have concurrent managed access, so the promise that an attachment is changes nothing.
SIMCUDA_STREAM_PAIR(cuStreamAttachMemAsync, _ptsz,
                    (CUstream handle, CUdeviceptr address, size_t bytes, unsigned flags),
                    return with_stream(handle, per_thread, [=](CUstream_st& stream) {
                        const Allocation* found = driver().find(address);
                        const bool single = flags == CU_MEM_ATTACH_SINGLE;
                        if (!found || found->memory != managed || found->address != address ||
                            (bytes != 0 && bytes != found->bytes) || (single && stream.legacy) ||
                            (!single && flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)) {
                            return CUDA_ERROR_INVALID_VALUE;
                        }
                        bool captured = false;
                        return admit_operation(stream, captured);
                    });)

// Host functions run at once: everything before them in the stream has been carried out already, whatever the
// virtual clock says of when.
namespace {
CUresult run_on_host(CUstream handle, CUhostFn function, void* data, bool per_thread) {
    bool captured = false;
    const CUresult refused = with_stream(handle, per_thread, [&](CUstream_st& stream) {
        const CUresult failed = admit_operation(stream, captured);
        return failed || !captured ? failed : capture_work(stream, HostWork{{function, data}});
    });
    if (refused == CUDA_SUCCESS && !captured) {
        run_host_function([&] { function(data); });
    }
    return refused;
}
} // namespace

SIMCUDA_STREAM_PAIR(cuLaunchHostFunc, _ptsz, (CUstream handle, CUhostFn function, void* data),
                    return run_on_host(handle, function, data, per_thread);)
// The last parameter says how the driver waits for the function: blocked, or spinning.
SIMCUDA_STREAM_PAIR(cuLaunchHostFunc_v2, _ptsz, (CUstream handle, CUhostFn function, void* data, unsigned),
                    return run_on_host(handle, function, data, per_thread);)
