// Contexts: the primary one of each device, further ones, and each thread's stack of current ones.
#include "tools/simcuda/driver/capture.hpp"
#include "tools/simcuda/driver/pool.hpp"
#include "tools/simcuda/driver/stream.hpp"

using namespace simcuda;

namespace {

bool is_device(CUdevice device) {
    return device >= 0 && device < static_cast<int>(driver().devices.size());
}

CUresult set_current(CUcontext context) {
    Thread& thread = this_thread();
    if (!context) {
        thread.depth = thread.depth ? thread.depth - 1 : 0;
        return CUDA_SUCCESS;
    }
    if (!driver().contexts.contains(context)) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (thread.depth == 0) {
        thread.depth = 1;
    }
    thread.contexts[thread.depth - 1] = context;
    return CUDA_SUCCESS;
}

CUresult push(CUcontext context) {
    Thread& thread = this_thread();
    if (!driver().contexts.contains(context) || thread.depth == Thread::depth_limit) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    thread.contexts[thread.depth++] = context;
    return CUDA_SUCCESS;
}

CUresult create(CUcontext* context, unsigned flags, CUdevice device) {
    const Guard guard(driver().mutex);
    if (!is_device(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    auto* made = new CUctx_st;
    made->device = device;
    made->flags = flags;
    made->id = ++driver().ids;
    driver().contexts.insert(made);
    *context = made;
    return push(made);
}

CUresult release(CUdevice device, bool reset) {
    const Guard guard(driver().mutex);
    if (!is_device(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    Device& owner = driver().devices[static_cast<std::size_t>(device)];
    if (!reset && owner.primary_uses == 0) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    owner.primary_uses = reset ? 0 : owner.primary_uses - 1;
    if (owner.primary_uses == 0) {
        forget_memory(owner.primary, reset);
        if (reset) {
            forget_pools(device);
        }
        forget_streams(owner.primary);
        owner.primary.peers.clear();
        owner.primary.sticky = CUDA_SUCCESS;
        driver().contexts.erase(&owner.primary);
        Thread& thread = this_thread();
        while (thread.depth && thread.contexts[thread.depth - 1] == &owner.primary) {
            --thread.depth;
        }
    }
    return CUDA_SUCCESS;
}

CUresult synchronize(CUctx_st& context) {
    Driver& state = driver();
    const Guard guard(state.mutex);
    if (const CUresult refused = refuse_context_wait(context)) {
        return refused;
    }
    ++state.control.synchronizations;
    state.clock.advance_to(context_end(context));
    trim_pools();
    return context.sticky;
}

} // namespace

void simcuda::use_primary(Device& device) {
    if (device.primary_uses++ == 0) {
        device.primary.id = ++driver().ids; // of this life of the context
        driver().contexts.insert(&device.primary);
    }
}

extern "C" CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    SIMCUDA_ENTER(Entry::cuDevicePrimaryCtxRetain, Needs::initialization)
    const Guard guard(driver().mutex);
    if (!is_device(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    Device& owner = driver().devices[static_cast<std::size_t>(device)];
    use_primary(owner);
    *context = &owner.primary;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    SIMCUDA_ENTER(Entry::cuDevicePrimaryCtxRelease_v2, Needs::initialization)
    return release(device, false);
}

extern "C" CUresult CUDAAPI cuDevicePrimaryCtxReset_v2(CUdevice device) {
    SIMCUDA_ENTER(Entry::cuDevicePrimaryCtxReset_v2, Needs::initialization)
    return release(device, true);
}

extern "C" CUresult CUDAAPI cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
    SIMCUDA_ENTER(Entry::cuDevicePrimaryCtxSetFlags_v2, Needs::initialization)
    const Guard guard(driver().mutex);
    if (!is_device(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    driver().devices[static_cast<std::size_t>(device)].primary.flags = flags;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
    SIMCUDA_ENTER(Entry::cuDevicePrimaryCtxGetState, Needs::initialization)
    const Guard guard(driver().mutex);
    if (!is_device(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    const Device& owner = driver().devices[static_cast<std::size_t>(device)];
    *flags = owner.primary.flags;
    *active = owner.primary_uses != 0;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
    SIMCUDA_ENTER(Entry::cuCtxCreate_v2, Needs::initialization)
    return create(context, flags, device);
}

extern "C" CUresult CUDAAPI cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam*, int, unsigned flags,
                                           CUdevice device) {
    SIMCUDA_ENTER(Entry::cuCtxCreate_v3, Needs::initialization)
    return create(context, flags, device);
}

extern "C" CUresult CUDAAPI cuCtxCreate_v4(CUcontext* context, CUctxCreateParams*, unsigned flags,
                                           CUdevice device) {
    SIMCUDA_ENTER(Entry::cuCtxCreate_v4, Needs::initialization)
    return create(context, flags, device);
}

extern "C" CUresult CUDAAPI cuCtxDestroy_v2(CUcontext context) {
    SIMCUDA_ENTER(Entry::cuCtxDestroy_v2, Needs::initialization)
    const Guard guard(driver().mutex);
    if (!driver().contexts.contains(context) || context->primary) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    Thread& thread = this_thread();
    if (thread.depth && thread.contexts[thread.depth - 1] == context) {
        --thread.depth;
    }
    forget_memory(*context, false);
    forget_streams(*context);
    driver().contexts.erase(context);
    delete context;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuCtxSetCurrent(CUcontext context) {
    SIMCUDA_ENTER(Entry::cuCtxSetCurrent, Needs::initialization)
    const Guard guard(driver().mutex);
    return set_current(context);
}

extern "C" CUresult CUDAAPI cuCtxGetCurrent(CUcontext* context) {
    SIMCUDA_ENTER(Entry::cuCtxGetCurrent, Needs::initialization)
    *context = current_context();
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext context) {
    SIMCUDA_ENTER(Entry::cuCtxPushCurrent_v2, Needs::initialization)
    const Guard guard(driver().mutex);
    return push(context);
}

extern "C" CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext* context) {
    SIMCUDA_ENTER(Entry::cuCtxPopCurrent_v2, Needs::initialization)
    Thread& thread = this_thread();
    if (thread.depth == 0) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    --thread.depth;
    if (context) {
        *context = thread.contexts[thread.depth];
    }
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuCtxGetDevice(CUdevice* device) {
    SIMCUDA_ENTER(Entry::cuCtxGetDevice)
    *device = current_context()->device;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuCtxGetDevice_v2(CUdevice* device, CUcontext context) {
    SIMCUDA_ENTER(Entry::cuCtxGetDevice_v2, Needs::initialization)
    const Guard guard(driver().mutex);
    context = context ? context : current_context();
    if (!driver().contexts.contains(context)) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    *device = context->device;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuCtxGetFlags(unsigned* flags) {
    SIMCUDA_ENTER(Entry::cuCtxGetFlags)
    *flags = current_context()->flags;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuCtxGetId(CUcontext context, unsigned long long* id) {
    SIMCUDA_ENTER(Entry::cuCtxGetId, Needs::initialization)
    const Guard guard(driver().mutex);
    context = context ? context : current_context();
    if (!driver().contexts.contains(context)) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    *id = context->id;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuCtxGetApiVersion(CUcontext, unsigned* version) {
    SIMCUDA_ENTER(Entry::cuCtxGetApiVersion)
    *version = 3020;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    SIMCUDA_ENTER(Entry::cuCtxGetStreamPriorityRange)
    if (least) {
        *least = 0;
    }
    if (greatest) {
        *greatest = -5;
    }
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuCtxSynchronize(void) {
    SIMCUDA_ENTER(Entry::cuCtxSynchronize)
    return synchronize(*current_context());
}

extern "C" CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext context) {
    SIMCUDA_ENTER(Entry::cuCtxSynchronize_v2, Needs::initialization) {
        const Guard guard(driver().mutex);
        context = context ? context : current_context();
        if (!driver().contexts.contains(context)) {
            return CUDA_ERROR_INVALID_CONTEXT;
        }
    }
    return synchronize(*context);
}
