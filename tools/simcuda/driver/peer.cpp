// Access of one device to another's memory.
#include "tools/simcuda/driver/driver.hpp"

#include <algorithm>

using namespace simcuda;

namespace {

bool reaches(const CUctx_st& context, int device) {
    return std::ranges::any_of(context.peers, [&](CUctx_st* peer) {
        return driver().contexts.contains(peer) && peer->device == device;
    });
}

bool is_pair(CUdevice device, CUdevice peer) {
    const auto count = static_cast<int>(driver().devices.size());
    return device >= 0 && device < count && peer >= 0 && peer < count;
}

int can_access(CUdevice device, CUdevice peer) {
    return driver().config.peers && device != peer ? 1 : 0;
}

} // namespace

bool simcuda::peer_access(int device, int other) {
    return std::ranges::any_of(driver().contexts, [&](const CUctx_st* context) {
        return (context->device == device && reaches(*context, other)) ||
               (context->device == other && reaches(*context, device));
    });
}

extern "C" CUresult CUDAAPI cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
    SIMCUDA_ENTER(Entry::cuDeviceCanAccessPeer, Needs::initialization)
    if (!can || !is_pair(device, peer)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *can = can_access(device, peer);
    return CUDA_SUCCESS;
}

/// The link is one of NVLink's kind: atomics go over it, and arrays are reached.
extern "C" CUresult CUDAAPI cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute,
                                                    CUdevice device, CUdevice peer) {
    SIMCUDA_ENTER(Entry::cuDeviceGetP2PAttribute, Needs::initialization)
    if (!value) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!is_pair(device, peer) || device == peer) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    switch (attribute) {
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
        *value = 0;
        return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
        *value = can_access(device, peer);
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
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
    if (can_access(context.device, peer->device) == 0) {
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
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
