#include "tools/simcuda/runtime/runtime.hpp"

using namespace simcuda::runtime;

extern "C" cudaError_t CUDARTAPI cudaDeviceCanAccessPeer(int* can, int device, int peer) {
    const cudaError_t failed = start();
    return remember(failed != cudaSuccess ? failed : as_runtime(driver().can_access_peer(can, device, peer)));
}

extern "C" cudaError_t CUDARTAPI cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
    return with_driver([&](const Driver& real) {
        CUcontext context = nullptr;
        const CUresult failed = primary_context(&context, peer);
        return failed != CUDA_SUCCESS ? failed : real.enable_peer(context, flags);
    });
}

extern "C" cudaError_t CUDARTAPI cudaDeviceDisablePeerAccess(int peer) {
    return with_driver([&](const Driver& real) {
        CUcontext context = nullptr;
        const CUresult failed = primary_context(&context, peer);
        return failed != CUDA_SUCCESS ? failed : real.disable_peer(context);
    });
}

extern "C" cudaError_t CUDARTAPI cudaMemcpyPeer(void* target, int target_device, const void* source,
                                                int source_device, size_t bytes) {
    return with_driver([&](const Driver& real) {
        CUcontext to = nullptr, from = nullptr;
        if (const CUresult failed = primary_context(&to, target_device)) {
            return failed;
        }
        if (const CUresult failed = primary_context(&from, source_device)) {
            return failed;
        }
        return real.copy_to_peer(address(target), to, address(source), from, bytes);
    });
}

extern "C" cudaError_t CUDARTAPI cudaMemcpyPeerAsync(void* target, int target_device, const void* source,
                                                     int source_device, size_t bytes, cudaStream_t stream) {
    return with_driver([&](const Driver& real) {
        CUcontext to = nullptr, from = nullptr;
        if (const CUresult failed = primary_context(&to, target_device)) {
            return failed;
        }
        if (const CUresult failed = primary_context(&from, source_device)) {
            return failed;
        }
        return real.copy_to_peer_async(address(target), to, address(source), from, bytes, stream);
    });
}
