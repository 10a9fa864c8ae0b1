// libcuda.so.1 that carries work out as late as CUDA allows, and else is simcuda, on which it lies. Of memory
// it relies on nothing that the CUDA Driver API does not promise ("API synchronization behavior"): copies
// between host memory come at once, those from pageable memory read it before they are back.
#define __CUDA_API_VERSION_INTERNAL
#include "tools/simcuda/late/order.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>
#include <unordered_map>

extern "C" void* simcuda_entry(const char* symbol);

namespace simcuda::late {

namespace {

using Guard = std::lock_guard<std::recursive_mutex>;

template <class Function>
Function entry(const char* symbol, Function) {
    return reinterpret_cast<Function>(simcuda_entry(symbol));
}

/// What this library has in simcuda's place, by simcuda's address.
std::unordered_map<void*, void*>& substitutes() {
    static auto* const only = new std::unordered_map<void*, void*>;
    return *only;
}

struct Substitute {
    Substitute(const char* symbol, void* ours) { substitutes().emplace(simcuda_entry(symbol), ours); }
};

// One entry point, whose `real` is simcuda's. The second form is for those with a per-thread default stream.
#define LATE(symbol, parameters, ...)                                                                          \
    extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI symbol parameters {                     \
        static const auto real = entry(#symbol, &symbol);                                                      \
        const Guard guard(mutex());                                                                            \
        __VA_ARGS__                                                                                            \
    }                                                                                                          \
    const Substitute substitute_##symbol(#symbol, reinterpret_cast<void*>(&symbol));
#define LATE_PAIR(symbol, suffix, parameters, ...)                                                             \
    LATE(symbol, parameters, constexpr bool per_thread = false; __VA_ARGS__)                                   \
    LATE(symbol##suffix, parameters, constexpr bool per_thread = true; __VA_ARGS__)

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

/// In the context that is current now; a thread that captures may be the one to carry it out.
template <class Call>
std::function<void()> in_context(Call call) {
    static const auto get = entry("cuCtxGetCurrent", &cuCtxGetCurrent);
    static const auto set = entry("cuCtxSetCurrent", &cuCtxSetCurrent);
    static const auto exchange = entry("cuThreadExchangeStreamCaptureMode", &cuThreadExchangeStreamCaptureMode);
    CUcontext current = nullptr;
    get(&current);
    return [current, call] {
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

/// Behind what the stream has.
template <class Call>
CUresult later(const char* what, CUstream stream, bool per_thread, Call call) {
    if (captures(stream, per_thread))
        return call();
    submit(stream_of(stream, per_thread), in_context([what, call] { must(call(), what); }));
    return CUDA_SUCCESS;
}

/// The same, and waits for it.
template <class Call>
CUresult now(const char* what, CUstream stream, bool per_thread, Call call) {
    if (captures(stream, per_thread))
        return call();
    force(submit(stream_of(stream, per_thread), in_context([what, call] { must(call(), what); })));
    return CUDA_SUCCESS;
}

// --- Copies

enum class End { pageable, pinned, device };

End end_of(CUdeviceptr address) {
    static const auto ask = entry("cuPointerGetAttribute", &cuPointerGetAttribute);
    unsigned type = 0, managed = 0;
    if (ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS)
        return End::pageable;
    ask(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address);
    return type == CU_MEMORYTYPE_HOST && (managed & 0xff) == 0 ? End::pinned : End::device;
}

CUdeviceptr address_of(const void* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}
CUdeviceptr address_of(CUdeviceptr pointer) {
    return pointer;
}

template <class Pointer>
Pointer pointer_to(void* memory) {
    if constexpr (std::is_pointer_v<Pointer>)
        return memory;
    else
        return address_of(memory);
}

template <class Real, class To, class From>
CUresult copy(const char* what, bool asynchronous, bool per_thread, CUstream stream, To to, From from,
              std::size_t bytes, Real real) {
    if (address_of(to) == 0 || address_of(from) == 0 || bytes == 0)
        return real(to, from);
    const End target = end_of(address_of(to)), source = end_of(address_of(from));
    const auto call = [=] { return real(to, from); };
    // Of one that names a direction: the wrong one.
    if constexpr (std::is_pointer_v<To> != std::is_pointer_v<From>)
        if ((std::is_pointer_v<To> ? source : target) == End::pageable)
            return call();
    if (source != End::device && target != End::device && !captures(stream, per_thread))
        return call(); // the host copies, and waits for nobody
    if (target == End::pageable || (!asynchronous && (target == End::pinned || source == End::pinned)))
        return now(what, stream, per_thread, call);
    if (source == End::pageable && !captures(stream, per_thread)) {
        const std::shared_ptr<char[]> held(new char[bytes]);
        std::memcpy(held.get(), reinterpret_cast<const void*>(address_of(from)), bytes);
        return later(what, stream, per_thread, [=] { return real(to, pointer_to<From>(held.get())); });
    }
    return later(what, stream, per_thread, call);
}

#define COPY(symbol, suffix, To, From)                                                                         \
    LATE_PAIR(symbol, suffix, (To to, From from, std::size_t bytes),                                           \
              return copy(#symbol, false, per_thread, nullptr, to, from, bytes,                                \
                          [bytes](To a, From b) { return real(a, b, bytes); });)
#define COPY_ASYNC(symbol, suffix, To, From)                                                                   \
    LATE_PAIR(symbol, suffix, (To to, From from, std::size_t bytes, CUstream stream),                          \
              return copy(#symbol, true, per_thread, stream, to, from, bytes,                                  \
                          [bytes, stream](To a, From b) { return real(a, b, bytes, stream); });)

COPY(cuMemcpy, _ptds, CUdeviceptr, CUdeviceptr)
COPY(cuMemcpyHtoD_v2, _ptds, CUdeviceptr, const void*)
COPY(cuMemcpyDtoH_v2, _ptds, void*, CUdeviceptr)
COPY(cuMemcpyDtoD_v2, _ptds, CUdeviceptr, CUdeviceptr)
COPY_ASYNC(cuMemcpyAsync, _ptsz, CUdeviceptr, CUdeviceptr)
COPY_ASYNC(cuMemcpyHtoDAsync_v2, _ptsz, CUdeviceptr, const void*)
COPY_ASYNC(cuMemcpyDtoHAsync_v2, _ptsz, void*, CUdeviceptr)
COPY_ASYNC(cuMemcpyDtoDAsync_v2, _ptsz, CUdeviceptr, CUdeviceptr)

template <class Box>
End end_of(CUmemorytype type, const void* host, CUdeviceptr device, const Box&) {
    return type == CU_MEMORYTYPE_HOST ? end_of(address_of(host)) : end_of(device);
}

/// Rows and boxes: those with an end in pageable memory are waited for, which they may be.
template <class Box, class Call>
CUresult copy_box(const char* what, bool asynchronous, bool per_thread, CUstream stream, const Box* given,
                  Call call) {
    if (given == nullptr)
        return call(given);
    const Box box = *given;
    const End target = end_of(box.dstMemoryType, box.dstHost, box.dstDevice, box);
    const End source = end_of(box.srcMemoryType, box.srcHost, box.srcDevice, box);
    const auto held = [=] { return call(&box); };
    if (source != End::device && target != End::device && !captures(stream, per_thread))
        return held();
    const bool waits = target == End::pageable || source == End::pageable ||
                       (!asynchronous && (target == End::pinned || source == End::pinned));
    return waits ? now(what, stream, per_thread, held) : later(what, stream, per_thread, held);
}

#define COPY_BOX(symbol, Box)                                                                                  \
    LATE_PAIR(                                                                                                 \
        symbol, _ptds, (const Box* box),                                                                       \
        return copy_box(#symbol, false, per_thread, nullptr, box, [](const Box* b) { return real(b); });)
#define COPY_BOX_ASYNC(symbol, Box)                                                                            \
    LATE_PAIR(symbol, _ptsz, (const Box* box, CUstream stream),                                                \
              return copy_box(#symbol, true, per_thread, stream, box,                                          \
                              [stream](const Box* b) { return real(b, stream); });)

COPY_BOX(cuMemcpy2D_v2, CUDA_MEMCPY2D)
COPY_BOX(cuMemcpy2DUnaligned_v2, CUDA_MEMCPY2D)
COPY_BOX(cuMemcpy3D_v2, CUDA_MEMCPY3D)
COPY_BOX_ASYNC(cuMemcpy2DAsync_v2, CUDA_MEMCPY2D)
COPY_BOX_ASYNC(cuMemcpy3DAsync_v2, CUDA_MEMCPY3D)

// --- Sets: asynchronous to the host either way

LATE_PAIR(cuMemsetD8_v2, _ptds, (CUdeviceptr to, unsigned char value, std::size_t count),
          return later("cuMemsetD8", nullptr, per_thread, [=] { return real(to, value, count); });)
LATE_PAIR(cuMemsetD32_v2, _ptds, (CUdeviceptr to, unsigned value, std::size_t count),
          return later("cuMemsetD32", nullptr, per_thread, [=] { return real(to, value, count); });)
LATE_PAIR(cuMemsetD2D8_v2, _ptds,
          (CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width, std::size_t height),
          return later("cuMemsetD2D8", nullptr, per_thread,
                       [=] { return real(to, pitch, value, width, height); });)
LATE_PAIR(cuMemsetD8Async, _ptsz, (CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream),
          return later("cuMemsetD8Async", stream, per_thread, [=] { return real(to, value, count, stream); });)
LATE_PAIR(cuMemsetD32Async, _ptsz, (CUdeviceptr to, unsigned value, std::size_t count, CUstream stream),
          return later("cuMemsetD32Async", stream, per_thread, [=] { return real(to, value, count, stream); });)
LATE_PAIR(cuMemsetD2D8Async, _ptsz,
          (CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width, std::size_t height,
           CUstream stream),
          return later("cuMemsetD2D8Async", stream, per_thread,
                       [=] { return real(to, pitch, value, width, height, stream); });)

// --- Launches

/// What the parameters of a launch hold now.
struct Parameters {
    std::vector<std::vector<char>> values;
    std::vector<void*> pointers;
};

std::shared_ptr<Parameters> keep(CUfunction function, void** parameters) {
    static const auto of_kernel = entry("cuKernelGetParamInfo", &cuKernelGetParamInfo);
    static const auto of_function = entry("cuFuncGetParamInfo", &cuFuncGetParamInfo);
    auto kept = std::make_shared<Parameters>();
    for (std::size_t i = 0, offset = 0, bytes = 0;
         of_kernel(reinterpret_cast<CUkernel>(function), i, &offset, &bytes) == CUDA_SUCCESS ||
         of_function(function, i, &offset, &bytes) == CUDA_SUCCESS;
         ++i) {
        const char* const from = static_cast<const char*>(parameters[i]);
        kept->values.emplace_back(from, from + bytes);
    }
    for (auto& value : kept->values)
        kept->pointers.push_back(value.data());
    return kept;
}

LATE_PAIR(cuLaunchKernel, _ptsz,
          (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
           unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void** parameters,
           void** extra),
          if (parameters == nullptr ||
              captures(stream, per_thread)) return real(function, grid_x, grid_y, grid_z, block_x, block_y,
                                                        block_z, shared, stream, parameters, extra);
          const auto kept = keep(function, parameters); return later("cuLaunchKernel", stream, per_thread, [=] {
              return real(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
                          kept->pointers.data(), nullptr);
          });)
LATE_PAIR(cuLaunchHostFunc, _ptsz, (CUstream stream, CUhostFn function, void* data),
          return later("cuLaunchHostFunc", stream, per_thread, [=] { return real(stream, function, data); });)

/// The last launch of each: another waits for it, and so does a change of the graph.
std::map<CUgraphExec, Work>& launches() {
    static auto* const only = new std::map<CUgraphExec, Work>;
    return *only;
}

LATE_PAIR(cuGraphLaunch, _ptsz, (CUgraphExec graph, CUstream stream),
          if (captures(stream, per_thread)) return real(graph, stream);
          Work& last = launches()[graph];
          last = submit(stream_of(stream, per_thread),
                        in_context([=] { must(real(graph, stream), "cuGraphLaunch"); }), last);
          return CUDA_SUCCESS;)
LATE(cuGraphExecKernelNodeSetParams_v2,
     (CUgraphExec graph, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* parameters), force(launches()[graph]);
     return real(graph, node, parameters);)
LATE(cuGraphExecUpdate_v2, (CUgraphExec graph, CUgraph from, CUgraphExecUpdateResultInfo* result),
     force(launches()[graph]);
     return real(graph, from, result);)
LATE(cuGraphExecDestroy, (CUgraphExec graph), force(launches()[graph]); launches().erase(graph);
     return real(graph);)

// --- Memory in the order of a stream. Allocations are made at once, so no memory has two owners.

LATE_PAIR(cuMemFreeAsync, _ptsz, (CUdeviceptr memory, CUstream stream),
          return later("cuMemFreeAsync", stream, per_thread, [=] { return real(memory, stream); });)
LATE(cuMemPoolTrimTo, (CUmemoryPool pool, std::size_t kept), force_all(); return real(pool, kept);)
LATE(cuMemPoolDestroy, (CUmemoryPool pool), force_all(); return real(pool);)

/// Memory that is gone is not moved.
template <class Call>
CUresult move(CUdeviceptr memory, CUstream stream, bool per_thread, Call call) {
    if (end_of(memory) != End::device || captures(stream, per_thread))
        return call();
    submit(stream_of(stream, per_thread), in_context([call] { call(); }));
    return CUDA_SUCCESS;
}
LATE_PAIR(cuMemPrefetchAsync, _ptsz, (CUdeviceptr memory, std::size_t bytes, CUdevice device, CUstream stream),
          return move(memory, stream, per_thread, [=] { return real(memory, bytes, device, stream); });)
LATE_PAIR(cuMemPrefetchAsync_v2, _ptsz,
          (CUdeviceptr memory, std::size_t bytes, CUmemLocation location, unsigned flags, CUstream stream),
          return move(memory, stream, per_thread,
                      [=] { return real(memory, bytes, location, flags, stream); });)

// --- Streams, events and waits

LATE(cuStreamCreate, (CUstream * out, unsigned flags), const CUresult answer = real(out, flags);
     if (answer == CUDA_SUCCESS) add_stream(*out, (flags & CU_STREAM_NON_BLOCKING) == 0); return answer;)
LATE(cuStreamCreateWithPriority, (CUstream * out, unsigned flags, int priority),
     const CUresult answer = real(out, flags, priority);
     if (answer == CUDA_SUCCESS) add_stream(*out, (flags & CU_STREAM_NON_BLOCKING) == 0); return answer;)
LATE_PAIR(cuStreamBeginCapture_v2, _ptsz, (CUstream stream, CUstreamCaptureMode mode),
          force(stream_of(stream, per_thread).last);
          return real(stream, mode);)
LATE(cuStreamDestroy_v2, (CUstream stream), remove_stream(stream); return real(stream);)

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

LATE_PAIR(cuEventRecord, _ptsz, (CUevent event, CUstream stream),
          return record(event, stream, per_thread, [=] { return real(event, stream); });)
LATE_PAIR(cuEventRecordWithFlags, _ptsz, (CUevent event, CUstream stream, unsigned flags),
          return record(event, stream, per_thread, [=] { return real(event, stream, flags); });)
LATE_PAIR(cuStreamWaitEvent, _ptsz, (CUstream stream, CUevent event, unsigned flags),
          const Event known = events()[event];
          if (known.captured) force(stream_of(stream, per_thread).last); // before it captures, too
          if (event == nullptr || known.captured || captures(stream, per_thread)) return real(stream, event,
                                                                                              flags);
          put_behind(stream_of(stream, per_thread), known.work); return CUDA_SUCCESS;)
LATE(cuEventSynchronize, (CUevent event), force(events()[event].work); return real(event);)
LATE(cuEventQuery, (CUevent event), const Work work = events()[event].work;
     if (!is_done(work) && chance(2)) return CUDA_ERROR_NOT_READY; force(work); return real(event);)
LATE(cuEventElapsedTime_v2, (float* out, CUevent first, CUevent last), force(events()[first].work);
     force(events()[last].work); return real(out, first, last);)
LATE(cuEventElapsedTime, (float* out, CUevent first, CUevent last), force(events()[first].work);
     force(events()[last].work); return real(out, first, last);)
LATE(cuEventDestroy_v2, (CUevent event), force(events()[event].work); events().erase(event);
     return real(event);)

LATE_PAIR(cuStreamSynchronize, _ptsz, (CUstream stream),
          if (!captures(stream, per_thread)) force(so_far(stream_of(stream, per_thread)));
          return real(stream);)
LATE_PAIR(cuStreamQuery, _ptsz, (CUstream stream), Stream& asked = stream_of(stream, per_thread);
          if (captures(stream, per_thread)) return real(stream);
          if (!is_done(asked.last) && chance(2)) return CUDA_ERROR_NOT_READY; force(so_far(asked));
          return real(stream);)
LATE(cuCtxSynchronize, (), force_all(); return real();)
LATE(cuDevicePrimaryCtxReset_v2, (CUdevice device), force_all(); return real(device);)
LATE(cuCtxDestroy_v2, (CUcontext context), force_all(); return real(context);)

// --- Look-up

void replace(void** address) {
    if (address == nullptr || *address == nullptr)
        return;
    if (const auto found = substitutes().find(*address); found != substitutes().end())
        *address = found->second;
}

LATE(cuGetProcAddress, (const char* symbol, void** address, int version, cuuint64_t flags),
     const CUresult answer = real(symbol, address, version, flags);
     replace(address); return answer;)
LATE(cuGetProcAddress_v2,
     (const char* symbol, void** address, int version, cuuint64_t flags,
      CUdriverProcAddressQueryResult* status),
     const CUresult answer = real(symbol, address, version, flags, status);
     replace(address); return answer;)

} // namespace

} // namespace simcuda::late
