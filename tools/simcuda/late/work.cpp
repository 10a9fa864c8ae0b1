// Sets, launches, graphs and stream-ordered memory of the late driver.
#include "tools/simcuda/late/entry.hpp"

#include <map>

namespace simcuda::late {

namespace {

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

/// The last launch of each: another waits for it, and so does a change of the graph.
std::map<CUgraphExec, Work>& launches() {
    static auto* const only = new std::map<CUgraphExec, Work>;
    return *only;
}

/// Memory that is gone is not moved.
template <class Call>
CUresult prefetch(CUdeviceptr memory, CUstream stream, bool per_thread, Call call) {
    if (end_of(memory) != End::device || captures(stream, per_thread))
        return call();
    submit(stream_of(stream, per_thread), in_context([call] { call(); }));
    return CUDA_SUCCESS;
}

} // namespace

// Asynchronous to the host either way.
LATE_PAIR(cuMemsetD8_v2, _ptds, (CUdeviceptr to, unsigned char value, std::size_t count),
          { return later("cuMemsetD8", nullptr, per_thread, [=] { return real(to, value, count); }); })
LATE_PAIR(cuMemsetD32_v2, _ptds, (CUdeviceptr to, unsigned value, std::size_t count),
          { return later("cuMemsetD32", nullptr, per_thread, [=] { return real(to, value, count); }); })
LATE_PAIR(cuMemsetD2D8_v2, _ptds,
          (CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width, std::size_t height), {
              return later("cuMemsetD2D8", nullptr, per_thread,
                           [=] { return real(to, pitch, value, width, height); });
          })
LATE_PAIR(cuMemsetD8Async, _ptsz, (CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream), {
    return later("cuMemsetD8Async", stream, per_thread, [=] { return real(to, value, count, stream); });
})
LATE_PAIR(cuMemsetD32Async, _ptsz, (CUdeviceptr to, unsigned value, std::size_t count, CUstream stream), {
    return later("cuMemsetD32Async", stream, per_thread, [=] { return real(to, value, count, stream); });
})
LATE_PAIR(cuMemsetD2D8Async, _ptsz,
          (CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width, std::size_t height,
           CUstream stream),
          {
              return later("cuMemsetD2D8Async", stream, per_thread,
                           [=] { return real(to, pitch, value, width, height, stream); });
          })

LATE_PAIR(cuLaunchKernel, _ptsz,
          (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
           unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void** parameters,
           void** extra),
          {
              if (parameters == nullptr || captures(stream, per_thread))
                  return real(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
                              parameters, extra);
              const auto kept = keep(function, parameters);
              return later("cuLaunchKernel", stream, per_thread, [=] {
                  return real(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
                              kept->pointers.data(), nullptr);
              });
          })
LATE_PAIR(cuLaunchHostFunc, _ptsz, (CUstream stream, CUhostFn function, void* data), {
    return later("cuLaunchHostFunc", stream, per_thread, [=] { return real(stream, function, data); });
})

LATE_PAIR(cuGraphLaunch, _ptsz, (CUgraphExec graph, CUstream stream), {
    if (captures(stream, per_thread))
        return real(graph, stream);
    Work& last = launches()[graph];
    last = submit(stream_of(stream, per_thread),
                  in_context([=] { must(real(graph, stream), "cuGraphLaunch"); }), last);
    return CUDA_SUCCESS;
})
LATE(cuGraphExecKernelNodeSetParams_v2,
     (CUgraphExec graph, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* parameters), {
         force(launches()[graph]);
         return real(graph, node, parameters);
     })
LATE(cuGraphExecUpdate_v2, (CUgraphExec graph, CUgraph from, CUgraphExecUpdateResultInfo* result), {
    force(launches()[graph]);
    return real(graph, from, result);
})
LATE(cuGraphExecDestroy, (CUgraphExec graph), {
    force(launches()[graph]);
    launches().erase(graph);
    return real(graph);
})

// Allocations are made at once, so no memory has two owners.
LATE_PAIR(cuMemFreeAsync, _ptsz, (CUdeviceptr memory, CUstream stream),
          { return later("cuMemFreeAsync", stream, per_thread, [=] { return real(memory, stream); }); })
// These wait for all streams (docs/driver.md).
LATE(cuMemFree_v2, (CUdeviceptr memory), {
    force_all();
    return real(memory);
})
LATE(cuMemFreeHost, (void* memory), {
    force_all();
    return real(memory);
})
LATE(cuMemHostUnregister, (void* memory), {
    force_all();
    return real(memory);
})
LATE(cuMemPoolTrimTo, (CUmemoryPool pool, std::size_t kept), {
    force_all();
    return real(pool, kept);
})
LATE(cuMemPoolDestroy, (CUmemoryPool pool), {
    force_all();
    return real(pool);
})

LATE_PAIR(cuMemPrefetchAsync, _ptsz, (CUdeviceptr memory, std::size_t bytes, CUdevice device, CUstream stream),
          { return prefetch(memory, stream, per_thread, [=] { return real(memory, bytes, device, stream); }); })
LATE_PAIR(cuMemPrefetchAsync_v2, _ptsz,
          (CUdeviceptr memory, std::size_t bytes, CUmemLocation location, unsigned flags, CUstream stream), {
              return prefetch(memory, stream, per_thread,
                              [=] { return real(memory, bytes, location, flags, stream); });
          })

} // namespace simcuda::late
