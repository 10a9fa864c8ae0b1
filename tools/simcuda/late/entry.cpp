// What the entry points of the late driver have in common, and their look-up.
#include "tools/simcuda/late/entry.hpp"

#include <cstdio>
#include <cstdlib>
#include <unordered_map>

namespace simcuda::late {

namespace {

std::unordered_map<void*, void*>& substitutes() {
    static auto* const only = new std::unordered_map<void*, void*>;
    return *only;
}

void replace(void** address) {
    if (address == nullptr)
        return;
    if (const auto found = substitutes().find(*address); found != substitutes().end())
        *address = found->second;
}

} // namespace

Substitute::Substitute(const char* symbol, void* ours) {
    substitutes().emplace(simcuda_entry(symbol), ours);
}

void must(CUresult answer, const char* what) {
    if (answer == CUDA_SUCCESS)
        return;
    std::fprintf(stderr, "simcuda-late: %s, carried out late: CUresult %d\n", what, static_cast<int>(answer));
    std::abort();
}

bool captures(CUstream stream, bool per_thread) {
    static const auto plain = entry("cuStreamIsCapturing", &cuStreamIsCapturing);
    static const auto own = entry("cuStreamIsCapturing_ptsz", &cuStreamIsCapturing);
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return (per_thread ? own : plain)(stream, &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

std::function<void()> in_context(std::function<void()> call) {
    static const auto get = entry("cuCtxGetCurrent", &cuCtxGetCurrent);
    static const auto set = entry("cuCtxSetCurrent", &cuCtxSetCurrent);
    static const auto exchange = entry("cuThreadExchangeStreamCaptureMode", &cuThreadExchangeStreamCaptureMode);
    CUcontext current = nullptr;
    get(&current);
    return [current, call = std::move(call)] {
        CUcontext before = nullptr;
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        get(&before);
        set(current);
        exchange(&mode);
        call();
        exchange(&mode);
        set(before);
    };
}

End end_of(CUdeviceptr address) {
    static const auto ask = entry("cuPointerGetAttribute", &cuPointerGetAttribute);
    unsigned type = 0, managed = 0;
    if (ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS)
        return End::pageable;
    ask(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address);
    return type == CU_MEMORYTYPE_HOST && (managed & 0xff) == 0 ? End::pinned : End::device;
}

LATE(cuGetProcAddress, (const char* symbol, void** address, int version, cuuint64_t flags), {
    const CUresult answer = real(symbol, address, version, flags);
    replace(address);
    return answer;
})
LATE(cuGetProcAddress_v2,
     (const char* symbol, void** address, int version, cuuint64_t flags,
      CUdriverProcAddressQueryResult* status),
     {
         const CUresult answer = real(symbol, address, version, flags, status);
         replace(address);
         return answer;
     })

} // namespace simcuda::late
