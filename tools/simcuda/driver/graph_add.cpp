// Adding nodes to a graph.
#include "tools/simcuda/driver/graph.hpp"
#include "tools/simcuda/driver/work.hpp"

using namespace simcuda;

namespace {

/// The tail of every function that adds a node.
template <class Fill>
CUresult add(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, std::size_t count, Fill fill) {
    const Guard guard(driver().mutex);
    if (!out || !is_graph(graph) || (count && !dependencies)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    Work work;
    if (const CUresult failed = fill(work)) {
        return failed;
    }
    *out = add_node(*graph, std::move(work), dependencies, count);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

template <class Parameters>
CUresult add_kernel(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
                    const Parameters* given) {
    return add(out, graph, dependencies, count, [&](Work& work) {
        CUkernel kernel = nullptr;
        if constexpr (requires { given->kern; }) {
            kernel = given->kern;
        }
        return kernel_work(work.emplace<KernelWork>(), given->func, kernel,
                           {{given->gridDimX, given->gridDimY, given->gridDimZ},
                            {given->blockDimX, given->blockDimY, given->blockDimZ}},
                           given->sharedMemBytes, given->kernelParams, given->extra);
    });
}

CUresult child_work(Work& work, CUgraph child) {
    if (!is_graph(child) || holds_memory(*child)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const auto inner = make_graph();
    inner->owned = true;
    copy_nodes(*child, *inner);
    work = ChildWork{inner};
    return CUDA_SUCCESS;
}

CUresult free_work(Work& work, CUdeviceptr address) {
    if (!graphs().memory.contains(address)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    work = FreeWork{address};
    return CUDA_SUCCESS;
}

CUresult conditional_work(Work& work, CUDA_CONDITIONAL_NODE_PARAMS& parameters) {
    if (!graphs().conditions.contains(parameters.handle) || parameters.size == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    ConditionalWork made;
    for (unsigned i = 0; i < parameters.size; ++i) {
        made.bodies.push_back(make_graph());
        made.bodies.back()->owned = true;
        made.handles.push_back(made.bodies.back().get());
    }
    made.parameters = parameters;
    work = std::move(made);
    return CUDA_SUCCESS;
}

CUresult any_work(Work& work, CUgraphNodeParams& given) {
    switch (given.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
        const CUDA_KERNEL_NODE_PARAMS_v3& kernel = given.kernel;
        return kernel_work(work.emplace<KernelWork>(), kernel.func, kernel.kern,
                           {{kernel.gridDimX, kernel.gridDimY, kernel.gridDimZ},
                            {kernel.blockDimX, kernel.blockDimY, kernel.blockDimZ}},
                           kernel.sharedMemBytes, kernel.kernelParams, kernel.extra);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        work = CopyWork{given.memcpy.copyParams};
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        work = SetWork{{given.memset.dst, given.memset.pitch, given.memset.value, given.memset.elementSize,
                        given.memset.width, given.memset.height}};
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_HOST:
        work = HostWork{{given.host.fn, given.host.userData}};
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return child_work(work, given.graph.graph);
    case CU_GRAPH_NODE_TYPE_EMPTY:
        work = EmptyWork{};
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        work = EventWaitWork{given.eventWait.event};
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        work = EventRecordWork{given.eventRecord.event};
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
        AllocWork made;
        const CUDA_MEM_ALLOC_NODE_PARAMS parameters{given.alloc.poolProps, given.alloc.accessDescs,
                                                    given.alloc.accessDescCount, given.alloc.bytesize, 0};
        const CUresult failed = alloc_work(made, parameters);
        given.alloc.dptr = made.parameters.dptr;
        work = std::move(made);
        return failed;
    }
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return free_work(work, given.free.dptr);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return conditional_work(work, given.conditional);
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

CUresult add_any(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
                 CUgraphNodeParams* given) {
    if (!given) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const CUresult failed =
        add(out, graph, dependencies, count, [given](Work& work) { return any_work(work, *given); });
    if (failed == CUDA_SUCCESS && given->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
        given->conditional.phGraph_out = std::get<ConditionalWork>((*out)->work).handles.data();
    }
    return failed;
}

} // namespace

#define SIMCUDA_ADD(name, extra_parameters, ...)                                                               \
    extern "C" CUresult CUDAAPI name(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,         \
                                     size_t count extra_parameters) {                                          \
        SIMCUDA_ENTER(Entry::name, Needs::initialization)                                                      \
        return __VA_ARGS__;                                                                                    \
    }
#define SIMCUDA_AND(...) , __VA_ARGS__

SIMCUDA_ADD(cuGraphAddKernelNode, SIMCUDA_AND(const CUDA_KERNEL_NODE_PARAMS_v1* given),
            add_kernel(out, graph, dependencies, count, given))
SIMCUDA_ADD(cuGraphAddKernelNode_v2, SIMCUDA_AND(const CUDA_KERNEL_NODE_PARAMS_v2* given),
            add_kernel(out, graph, dependencies, count, given))
SIMCUDA_ADD(cuGraphAddMemcpyNode, SIMCUDA_AND(const CUDA_MEMCPY3D* given, CUcontext),
            add(out, graph, dependencies, count, [given](Work& work) {
                work = CopyWork{*given};
                return CUDA_SUCCESS;
            }))
SIMCUDA_ADD(cuGraphAddMemsetNode, SIMCUDA_AND(const CUDA_MEMSET_NODE_PARAMS* given, CUcontext),
            add(out, graph, dependencies, count, [given](Work& work) {
                work = SetWork{*given};
                return CUDA_SUCCESS;
            }))
SIMCUDA_ADD(cuGraphAddHostNode, SIMCUDA_AND(const CUDA_HOST_NODE_PARAMS* given),
            add(out, graph, dependencies, count, [given](Work& work) {
                work = HostWork{*given};
                return CUDA_SUCCESS;
            }))
SIMCUDA_ADD(cuGraphAddChildGraphNode, SIMCUDA_AND(CUgraph child),
            add(out, graph, dependencies, count, [child](Work& work) { return child_work(work, child); }))
SIMCUDA_ADD(cuGraphAddEmptyNode, , add(out, graph, dependencies, count, [](Work& work) {
                work = EmptyWork{};
                return CUDA_SUCCESS;
            }))
SIMCUDA_ADD(cuGraphAddEventRecordNode, SIMCUDA_AND(CUevent event),
            add(out, graph, dependencies, count, [event](Work& work) {
                work = EventRecordWork{event};
                return CUDA_SUCCESS;
            }))
SIMCUDA_ADD(cuGraphAddEventWaitNode, SIMCUDA_AND(CUevent event),
            add(out, graph, dependencies, count, [event](Work& work) {
                work = EventWaitWork{event};
                return CUDA_SUCCESS;
            }))
SIMCUDA_ADD(cuGraphAddMemAllocNode, SIMCUDA_AND(CUDA_MEM_ALLOC_NODE_PARAMS* given),
            add(out, graph, dependencies, count, [given](Work& work) {
                AllocWork made;
                const CUresult failed = alloc_work(made, *given);
                given->dptr = made.parameters.dptr;
                work = std::move(made);
                return failed;
            }))
SIMCUDA_ADD(cuGraphAddMemFreeNode, SIMCUDA_AND(CUdeviceptr address),
            add(out, graph, dependencies, count, [address](Work& work) { return free_work(work, address); }))
SIMCUDA_ADD(cuGraphAddNode, SIMCUDA_AND(CUgraphNodeParams* given),
            add_any(out, graph, dependencies, count, given))

extern "C" CUresult CUDAAPI cuGraphAddNode_v2(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                                              const CUgraphEdgeData*, size_t count, CUgraphNodeParams* given) {
    SIMCUDA_ENTER(Entry::cuGraphAddNode_v2, Needs::initialization)
    return add_any(out, graph, dependencies, count, given);
}

extern "C" CUresult CUDAAPI cuGraphAddNode_v3(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                                              const CUgraphEdgeData*, size_t count, CUgraphNodeParams* given) {
    SIMCUDA_ENTER(Entry::cuGraphAddNode_v3, Needs::initialization)
    return add_any(out, graph, dependencies, count, given);
}
