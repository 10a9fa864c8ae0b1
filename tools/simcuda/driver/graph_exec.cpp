// Executable graphs: instantiation and updates.
#include "tools/simcuda/driver/graph.hpp"
#include "tools/simcuda/driver/work.hpp"

#include <algorithm>

using namespace simcuda;

namespace {

bool build(const CUgraph_st& graph, ExecNodes& out) {
    std::vector<const CUgraphNode_st*> sorted;
    if (!sort_nodes(graph, sorted)) {
        return false;
    }
    for (const CUgraphNode_st* node : sorted) {
        ExecNode made{node, node->work, {}, true, {}};
        if (auto* const kernel = std::get_if<KernelWork>(&made.work)) {
            kernel->point();
        }
        for (const CUgraphNode_st* before : node->dependencies) {
            made.dependencies.push_back(
                static_cast<std::size_t>(std::ranges::find(sorted, before) - sorted.begin()));
        }
        if (const auto* const child = std::get_if<ChildWork>(&node->work)) {
            if (!build(*child->graph, made.inner.emplace_back())) {
                return false;
            }
        } else if (const auto* const conditional = std::get_if<ConditionalWork>(&node->work)) {
            for (const auto& body : conditional->bodies) {
                if (!build(*body, made.inner.emplace_back())) {
                    return false;
                }
            }
        }
        out.push_back(std::move(made));
    }
    return true;
}

CUresult instantiate(CUgraphExec* out, CUgraph graph, unsigned long long flags) {
    const Guard guard(driver().mutex);
    if (!out || !graphs().graphs.contains(graph) || graph->owned) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const bool single = std::ranges::any_of(graph->nodes, [](const auto& node) {
        return std::holds_alternative<AllocWork>(node->work) || std::holds_alternative<FreeWork>(node->work) ||
               std::holds_alternative<ConditionalWork>(node->work);
    });
    auto nodes = std::make_shared<ExecNodes>();
    if ((single && graph->instances != 0) || !build(*graph, *nodes)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    driver().clock.advance(1000 * (1 + nodes->size()));
    auto* made = new CUgraphExec_st{std::move(nodes), graph, flags};
    ++graph->instances;
    graphs().execs.insert(made);
    *out = made;
    return CUDA_SUCCESS;
}

/// Copies kernel parameters' pointers anew: a copy of a node points into the old one's buffer.
void point_all(ExecNodes& nodes) {
    for (ExecNode& node : nodes) {
        if (auto* const kernel = std::get_if<KernelWork>(&node.work)) {
            kernel->point();
        }
        for (ExecNodes& inner : node.inner) {
            point_all(inner);
        }
    }
}

ExecNode* find(ExecNodes& nodes, const CUgraphNode_st* key) {
    for (ExecNode& node : nodes) {
        if (node.key == key) {
            return &node;
        }
        for (ExecNodes& inner : node.inner) {
            if (ExecNode* const found = find(inner, key)) {
                return found;
            }
        }
    }
    return nullptr;
}

/// Puts the works of `from` in the place of those of `to`, node by node in the same order.
CUgraphExecUpdateResult pair(ExecNodes& to, const ExecNodes& from) {
    if (to.size() != from.size()) {
        return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    }
    for (std::size_t i = 0; i < to.size(); ++i) {
        if (type_of(to[i].work) != type_of(from[i].work)) {
            return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
        }
        if (to[i].dependencies != from[i].dependencies || to[i].inner.size() != from[i].inner.size()) {
            return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        }
    }
    for (std::size_t i = 0; i < to.size(); ++i) {
        for (std::size_t j = 0; j < to[i].inner.size(); ++j) {
            if (const auto failed = pair(to[i].inner[j], from[i].inner[j])) {
                return failed;
            }
        }
        if (!std::holds_alternative<AllocWork>(to[i].work) &&
            !std::holds_alternative<ConditionalWork>(to[i].work)) {
            to[i].work = from[i].work;
        }
    }
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

/// Changes a copy of the nodes and puts it in their place when `change` succeeds.
template <class Change>
CUresult change(CUgraphExec exec, Change change) {
    const Guard guard(driver().mutex);
    if (!graphs().execs.contains(exec)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    auto nodes = std::make_shared<ExecNodes>(*exec->nodes);
    if (const CUresult failed = change(*nodes)) {
        return failed;
    }
    point_all(*nodes);
    exec->nodes = std::move(nodes);
    return CUDA_SUCCESS;
}

CUresult update(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResult& result) {
    result = CU_GRAPH_EXEC_UPDATE_ERROR;
    return change(exec, [&](ExecNodes& nodes) {
        ExecNodes from;
        if (!graphs().graphs.contains(graph) || !build(*graph, from)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        result = pair(nodes, from);
        return result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    });
}

/// Changes the work of one node of that kind.
template <class Kind, class Set>
CUresult set(CUgraphExec exec, CUgraphNode key, Set set) {
    return change(exec, [&](ExecNodes& nodes) {
        ExecNode* const node = find(nodes, key);
        Kind* const work = node ? std::get_if<Kind>(&node->work) : nullptr;
        return work ? set(*work) : CUDA_ERROR_INVALID_VALUE;
    });
}

template <class Parameters>
CUresult set_kernel(CUgraphExec exec, CUgraphNode key, const Parameters& given) {
    return set<KernelWork>(exec, key, [&given](KernelWork& work) {
        CUkernel kernel = nullptr;
        if constexpr (requires { given.kern; }) {
            kernel = given.kern;
        }
        return kernel_work(work, given.func, kernel,
                           {{given.gridDimX, given.gridDimY, given.gridDimZ},
                            {given.blockDimX, given.blockDimY, given.blockDimZ}},
                           given.sharedMemBytes, given.kernelParams, given.extra);
    });
}

CUresult set_copy(CUgraphExec exec, CUgraphNode key, const CUDA_MEMCPY3D& given) {
    return set<CopyWork>(exec, key, [&given](CopyWork& work) {
        if (work.parameters.srcMemoryType != given.srcMemoryType ||
            work.parameters.dstMemoryType != given.dstMemoryType) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        work.parameters = given;
        return CUDA_SUCCESS;
    });
}

CUresult set_set(CUgraphExec exec, CUgraphNode key, const CUDA_MEMSET_NODE_PARAMS& given) {
    return set<SetWork>(exec, key, [&given](SetWork& work) {
        work.parameters = given;
        return CUDA_SUCCESS;
    });
}

CUresult set_child(CUgraphExec exec, CUgraphNode key, CUgraph child) {
    return change(exec, [&](ExecNodes& nodes) {
        ExecNode* const node = find(nodes, key);
        ExecNodes from;
        if (!node || !std::holds_alternative<ChildWork>(node->work) || !graphs().graphs.contains(child) ||
            !build(*child, from)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        return pair(node->inner.front(), from) == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS
                                                                               : CUDA_ERROR_INVALID_VALUE;
    });
}

CUresult set_any(CUgraphExec exec, CUgraphNode key, const CUgraphNodeParams& given) {
    switch (given.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return set_kernel(exec, key, given.kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return set_copy(exec, key, given.memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return set_set(exec, key,
                       {given.memset.dst, given.memset.pitch, given.memset.value, given.memset.elementSize,
                        given.memset.width, given.memset.height});
    case CU_GRAPH_NODE_TYPE_HOST:
        return set<HostWork>(exec, key, [&given](HostWork& work) {
            work.parameters = {given.host.fn, given.host.userData};
            return CUDA_SUCCESS;
        });
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return set_child(exec, key, given.graph.graph);
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

} // namespace

extern "C" CUresult CUDAAPI cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* node, char* log,
                                               size_t bytes) {
    SIMCUDA_ENTER(Entry::cuGraphInstantiate)
    if (node) {
        *node = nullptr;
    }
    if (log && bytes) {
        *log = '\0';
    }
    return instantiate(exec, graph, 0);
}

extern "C" CUresult CUDAAPI cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* node,
                                                  char* log, size_t bytes) {
    SIMCUDA_ENTER(Entry::cuGraphInstantiate_v2)
    if (node) {
        *node = nullptr;
    }
    if (log && bytes) {
        *log = '\0';
    }
    return instantiate(exec, graph, 0);
}

extern "C" CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph,
                                                        unsigned long long flags) {
    SIMCUDA_ENTER(Entry::cuGraphInstantiateWithFlags)
    return instantiate(exec, graph, flags);
}

SIMCUDA_STREAM_PAIR(cuGraphInstantiateWithParams, _ptsz,
                    (CUgraphExec * exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* given), {
                        const CUresult failed = instantiate(exec, graph, given->flags);
                        given->hErrNode_out = nullptr;
                        given->result_out =
                            failed ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
                        return failed;
                    })

SIMCUDA_STREAM_PAIR(cuGraphUpload, _ptsz, (CUgraphExec exec, CUstream), {
    const Guard guard(driver().mutex);
    return graphs().execs.contains(exec) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
})

extern "C" CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec exec) {
    SIMCUDA_ENTER(Entry::cuGraphExecDestroy, Needs::initialization)
    const Guard guard(driver().mutex);
    if (graphs().execs.erase(exec) == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (graphs().graphs.contains(exec->graph)) {
        --exec->graph->instances;
    }
    delete exec;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t* flags) {
    SIMCUDA_ENTER(Entry::cuGraphExecGetFlags, Needs::initialization)
    const Guard guard(driver().mutex);
    if (!flags || !graphs().execs.contains(exec)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *flags = exec->flags;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* node,
                                              CUgraphExecUpdateResult* result) {
    SIMCUDA_ENTER(Entry::cuGraphExecUpdate)
    if (node) {
        *node = nullptr;
    }
    CUgraphExecUpdateResult unused;
    return update(exec, graph, result ? *result : unused);
}

extern "C" CUresult CUDAAPI cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
                                                 CUgraphExecUpdateResultInfo* info) {
    SIMCUDA_ENTER(Entry::cuGraphExecUpdate_v2)
    CUgraphExecUpdateResultInfo unused{};
    CUgraphExecUpdateResultInfo& told = info ? *info : unused;
    told.errorNode = told.errorFromNode = nullptr;
    return update(exec, graph, told.result);
}

extern "C" CUresult CUDAAPI cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                           const CUDA_KERNEL_NODE_PARAMS_v1* given) {
    SIMCUDA_ENTER(Entry::cuGraphExecKernelNodeSetParams)
    return set_kernel(exec, node, *given);
}

extern "C" CUresult CUDAAPI cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                                              const CUDA_KERNEL_NODE_PARAMS_v2* given) {
    SIMCUDA_ENTER(Entry::cuGraphExecKernelNodeSetParams_v2)
    return set_kernel(exec, node, *given);
}

extern "C" CUresult CUDAAPI cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                           const CUDA_MEMCPY3D* given, CUcontext) {
    SIMCUDA_ENTER(Entry::cuGraphExecMemcpyNodeSetParams)
    return set_copy(exec, node, *given);
}

extern "C" CUresult CUDAAPI cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                           const CUDA_MEMSET_NODE_PARAMS* given, CUcontext) {
    SIMCUDA_ENTER(Entry::cuGraphExecMemsetNodeSetParams)
    return set_set(exec, node, *given);
}

extern "C" CUresult CUDAAPI cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                         const CUDA_HOST_NODE_PARAMS* given) {
    SIMCUDA_ENTER(Entry::cuGraphExecHostNodeSetParams)
    return set<HostWork>(exec, node, [given](HostWork& work) {
        work.parameters = *given;
        return CUDA_SUCCESS;
    });
}

extern "C" CUresult CUDAAPI cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                               CUgraph child) {
    SIMCUDA_ENTER(Entry::cuGraphExecChildGraphNodeSetParams)
    return set_child(exec, node, child);
}

extern "C" CUresult CUDAAPI cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node,
                                                               CUevent event) {
    SIMCUDA_ENTER(Entry::cuGraphExecEventRecordNodeSetEvent)
    return set<EventRecordWork>(exec, node, [event](EventRecordWork& work) {
        work.event = event;
        return CUDA_SUCCESS;
    });
}

extern "C" CUresult CUDAAPI cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node,
                                                             CUevent event) {
    SIMCUDA_ENTER(Entry::cuGraphExecEventWaitNodeSetEvent)
    return set<EventWaitWork>(exec, node, [event](EventWaitWork& work) {
        work.event = event;
        return CUDA_SUCCESS;
    });
}

extern "C" CUresult CUDAAPI cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                     CUgraphNodeParams* given) {
    SIMCUDA_ENTER(Entry::cuGraphExecNodeSetParams)
    return given ? set_any(exec, node, *given) : CUDA_ERROR_INVALID_VALUE;
}

extern "C" CUresult CUDAAPI cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled) {
    SIMCUDA_ENTER(Entry::cuGraphNodeSetEnabled)
    return change(exec, [&](ExecNodes& nodes) {
        ExecNode* const found = find(nodes, node);
        if (!found ||
            (!std::holds_alternative<KernelWork>(found->work) &&
             !std::holds_alternative<CopyWork>(found->work) && !std::holds_alternative<SetWork>(found->work))) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        found->enabled = enabled != 0;
        return CUDA_SUCCESS;
    });
}

extern "C" CUresult CUDAAPI cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned* enabled) {
    SIMCUDA_ENTER(Entry::cuGraphNodeGetEnabled)
    return change(exec, [&](ExecNodes& nodes) {
        const ExecNode* const found = find(nodes, node);
        if (!found || !enabled) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *enabled = found->enabled;
        return CUDA_SUCCESS;
    });
}
