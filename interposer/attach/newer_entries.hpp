/// Signatures of entry points that came after CUDA 13.0 and are recorded, whatever toolkit umadvisor is built
/// with. docs/entry-points.md says where each was read. None is guessed: a wrong one would crash programs.
#pragma once

#include "interposer/attach/entries.hpp"

namespace umadvisor::attach {

using CopyWithAttributes = CUresult(CUDAAPI*)(CUdeviceptr destination, CUdeviceptr source, std::size_t bytes,
                                              CUmemcpyAttributes* attributes, CUstream stream);
using CopyRowsWithAttributes = CUresult(CUDAAPI*)(CUDA_MEMCPY3D_BATCH_OP* operation, unsigned long long flags,
                                                  CUstream stream);
using LaunchHostFunction = CUresult(CUDAAPI*)(CUstream stream, CUhostFn function, void* data,
                                              unsigned synchronization);
using AddNode = CUresult(CUDAAPI*)(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                   const CUgraphEdgeData* edges, std::size_t dependency_count,
                                   CUgraphNodeParams* parameters);
/// The callback, a function pointer, is handed on as it is.
using BeginRecapture = CUresult(CUDAAPI*)(CUstream stream, CUstreamCaptureMode mode, CUgraph graph,
                                          void* callback, void* data);

#define UMADVISOR_NEWER(symbol, Signature)                                                                     \
    template <>                                                                                                \
    struct EntryTraits<Entry::symbol> {                                                                        \
        using Function = Signature;                                                                            \
    }
UMADVISOR_NEWER(cuMemcpyWithAttributesAsync, CopyWithAttributes);
UMADVISOR_NEWER(cuMemcpyWithAttributesAsync_ptsz, CopyWithAttributes);
UMADVISOR_NEWER(cuMemcpy3DWithAttributesAsync, CopyRowsWithAttributes);
UMADVISOR_NEWER(cuMemcpy3DWithAttributesAsync_ptsz, CopyRowsWithAttributes);
UMADVISOR_NEWER(cuLaunchHostFunc_v2, LaunchHostFunction);
UMADVISOR_NEWER(cuLaunchHostFunc_v2_ptsz, LaunchHostFunction);
UMADVISOR_NEWER(cuGraphAddNode_v3, AddNode);
UMADVISOR_NEWER(cuStreamBeginRecaptureToGraph, BeginRecapture);
UMADVISOR_NEWER(cuStreamBeginRecaptureToGraph_ptsz, BeginRecapture);
#undef UMADVISOR_NEWER

} // namespace umadvisor::attach
