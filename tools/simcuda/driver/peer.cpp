// Access of one device to another's memory.
#include "tools/simcuda/driver/driver.hpp"

using namespace simcuda;

extern "C" CUresult CUDAAPI cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
    SIMCUDA_ENTER(Entry::cuDeviceCanAccessPeer, Needs::initialization)
    const auto count = static_cast<int>(driver().devices.size());
    if (!can || device < 0 || device >= count || peer < 0 || peer >= count) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *can = device != peer ? 1 : 0;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
    SIMCUDA_ENTER(Entry::cuCtxEnablePeerAccess)
    const Guard guard(driver().mutex);
    CUctx_st& context = *current_context();
    if (flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!driver().contexts.contains(peer) || peer == &context) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (peer->device == context.device) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    return context.peers.insert(peer).second ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

extern "C" CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext peer) {
    SIMCUDA_ENTER(Entry::cuCtxDisablePeerAccess)
    const Guard guard(driver().mutex);
    if (!driver().contexts.contains(peer)) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    return current_context()->peers.erase(peer) != 0 ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}
