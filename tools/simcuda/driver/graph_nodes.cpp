// What nodes and graphs are asked for, and nodes set anew.
#include "tools/simcuda/driver/graph.hpp"

#include <algorithm>

using namespace simcuda;

namespace {

/// Runs `use(work)` on the work of a node of that kind.
template <class Kind, class Use>
CUresult with(CUgraphNode node, Use use) {
    const Guard guard(driver().mutex);
    Kind* const work = graphs().nodes.contains(node) ? std::get_if<Kind>(&node->work) : nullptr;
    return work ? use(*work) : CUDA_ERROR_INVALID_VALUE;
}

/// The way all lists are asked for: without an array, how many there are; else as many as fit, and nulls.
template <class Element>
CUresult give(const std::vector<Element>& list, Element* out, std::size_t* count) {
    if (!count) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (out) {
        for (std::size_t i = 0; i < *count; ++i) {
            out[i] = i < list.size() ? list[i] : nullptr;
        }
        *count = std::min(*count, list.size());
    } else {
        *count = list.size();
    }
    return CUDA_SUCCESS;
}

template <class Filter>
CUresult give_nodes(CUgraph graph, CUgraphNode* out, std::size_t* count, Filter filter) {
    const Guard guard(driver().mutex);
    if (!graphs().graphs.contains(graph)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    std::vector<CUgraphNode> list;
    for (const auto& node : graph->nodes) {
        if (filter(*node)) {
            list.push_back(node.get());
        }
    }
    return give(list, out, count);
}

CUresult give_edges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
                    std::size_t* count) {
    const Guard guard(driver().mutex);
    if (!graphs().graphs.contains(graph) || !from != !to) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    std::vector<CUgraphNode> froms, tos;
    for (const auto& node : graph->nodes) {
        for (CUgraphNode_st* before : node->dependencies) {
            froms.push_back(before);
            tos.push_back(node.get());
        }
    }
    if (data && from) {
        std::fill_n(data, *count, CUgraphEdgeData{});
    }
    std::size_t room = count ? *count : 0;
    const CUresult failed = give(froms, from, count);
    return failed || !to ? failed : give(tos, to, &room);
}

CUresult give_dependencies(CUgraphNode node, CUgraphNode* out, CUgraphEdgeData* data, std::size_t* count) {
    const Guard guard(driver().mutex);
    if (!graphs().nodes.contains(node)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (data && out) {
        std::fill_n(data, *count, CUgraphEdgeData{});
    }
    return give(node->dependencies, out, count);
}

CUresult give_dependents(CUgraphNode node, CUgraphNode* out, CUgraphEdgeData* data, std::size_t* count) {
    const Guard guard(driver().mutex);
    if (!graphs().nodes.contains(node)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    std::vector<CUgraphNode> list;
    for (const auto& other : node->graph->nodes) {
        if (std::ranges::find(other->dependencies, node) != other->dependencies.end()) {
            list.push_back(other.get());
        }
    }
    if (data && out) {
        std::fill_n(data, *count, CUgraphEdgeData{});
    }
    return give(list, out, count);
}

template <class Parameters>
CUresult get_kernel(CUgraphNode node, Parameters* out) {
    return with<KernelWork>(node, [out](KernelWork& work) {
        *out = {};
        out->func = work.function;
        out->gridDimX = work.shape.grid[0];
        out->gridDimY = work.shape.grid[1];
        out->gridDimZ = work.shape.grid[2];
        out->blockDimX = work.shape.block[0];
        out->blockDimY = work.shape.block[1];
        out->blockDimZ = work.shape.block[2];
        out->sharedMemBytes = work.shared_bytes;
        out->kernelParams = work.pointers.data();
        return CUDA_SUCCESS;
    });
}

template <class Parameters>
CUresult set_kernel(CUgraphNode node, const Parameters* given) {
    return with<KernelWork>(node, [given](KernelWork& work) {
        CUkernel kernel = nullptr;
        if constexpr (requires { given->kern; }) {
            kernel = given->kern;
        }
        return kernel_work(work, given->func, kernel,
                           {{given->gridDimX, given->gridDimY, given->gridDimZ},
                            {given->blockDimX, given->blockDimY, given->blockDimZ}},
                           given->sharedMemBytes, given->kernelParams, given->extra);
    });
}

constexpr auto every = [](const CUgraphNode_st&) { return true; };
constexpr auto root = [](const CUgraphNode_st& node) { return node.dependencies.empty(); };

} // namespace

#define SIMCUDA_GRAPH(name, parameters, ...)                                                                   \
    extern "C" CUresult CUDAAPI name parameters {                                                              \
        SIMCUDA_ENTER(Entry::name, Needs::initialization)                                                      \
        return __VA_ARGS__;                                                                                    \
    }

SIMCUDA_GRAPH(cuGraphGetNodes, (CUgraph graph, CUgraphNode* out, size_t* count),
              give_nodes(graph, out, count, every))
SIMCUDA_GRAPH(cuGraphGetRootNodes, (CUgraph graph, CUgraphNode* out, size_t* count),
              give_nodes(graph, out, count, root))
SIMCUDA_GRAPH(cuGraphGetEdges, (CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count),
              give_edges(graph, from, to, nullptr, count))
SIMCUDA_GRAPH(cuGraphGetEdges_v2,
              (CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count),
              give_edges(graph, from, to, data, count))
SIMCUDA_GRAPH(cuGraphNodeGetDependencies, (CUgraphNode node, CUgraphNode* out, size_t* count),
              give_dependencies(node, out, nullptr, count))
SIMCUDA_GRAPH(cuGraphNodeGetDependencies_v2,
              (CUgraphNode node, CUgraphNode* out, CUgraphEdgeData* data, size_t* count),
              give_dependencies(node, out, data, count))
SIMCUDA_GRAPH(cuGraphNodeGetDependentNodes, (CUgraphNode node, CUgraphNode* out, size_t* count),
              give_dependents(node, out, nullptr, count))
SIMCUDA_GRAPH(cuGraphNodeGetDependentNodes_v2,
              (CUgraphNode node, CUgraphNode* out, CUgraphEdgeData* data, size_t* count),
              give_dependents(node, out, data, count))

extern "C" CUresult CUDAAPI cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
    SIMCUDA_ENTER(Entry::cuGraphNodeGetType, Needs::initialization)
    const Guard guard(driver().mutex);
    if (!type || !graphs().nodes.contains(node)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *type = type_of(node->work);
    return CUDA_SUCCESS;
}

SIMCUDA_GRAPH(cuGraphKernelNodeGetParams, (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* out),
              get_kernel(node, out))
SIMCUDA_GRAPH(cuGraphKernelNodeGetParams_v2, (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2* out),
              get_kernel(node, out))
SIMCUDA_GRAPH(cuGraphKernelNodeSetParams, (CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* given),
              set_kernel(node, given))
SIMCUDA_GRAPH(cuGraphKernelNodeSetParams_v2, (CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2* given),
              set_kernel(node, given))

/// Nodes whose parameters are one structure, got and set alike.
#define SIMCUDA_GET_SET(kind, work_type, type)                                                                 \
    SIMCUDA_GRAPH(cuGraph##kind##NodeGetParams, (CUgraphNode node, type * out),                                \
                  with<work_type>(node, [out](work_type& work) {                                               \
                      *out = work.parameters;                                                                  \
                      return CUDA_SUCCESS;                                                                     \
                  }))                                                                                          \
    SIMCUDA_GRAPH(cuGraph##kind##NodeSetParams, (CUgraphNode node, const type* given),                         \
                  with<work_type>(node, [given](work_type& work) {                                             \
                      work.parameters = *given;                                                                \
                      return CUDA_SUCCESS;                                                                     \
                  }))

SIMCUDA_GET_SET(Memcpy, CopyWork, CUDA_MEMCPY3D)
SIMCUDA_GET_SET(Memset, SetWork, CUDA_MEMSET_NODE_PARAMS)
SIMCUDA_GET_SET(Host, HostWork, CUDA_HOST_NODE_PARAMS)

SIMCUDA_GRAPH(cuGraphMemAllocNodeGetParams, (CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* out),
              with<AllocWork>(node, [out](AllocWork& work) {
                  *out = work.parameters;
                  return CUDA_SUCCESS;
              }))
SIMCUDA_GRAPH(cuGraphMemFreeNodeGetParams, (CUgraphNode node, CUdeviceptr* out),
              with<FreeWork>(node, [out](FreeWork& work) {
                  *out = work.address;
                  return CUDA_SUCCESS;
              }))
SIMCUDA_GRAPH(cuGraphChildGraphNodeGetGraph, (CUgraphNode node, CUgraph* out),
              with<ChildWork>(node, [out](ChildWork& work) {
                  *out = work.graph.get();
                  return CUDA_SUCCESS;
              }))
SIMCUDA_GRAPH(cuGraphEventRecordNodeGetEvent, (CUgraphNode node, CUevent* out),
              with<EventRecordWork>(node, [out](EventRecordWork& work) {
                  *out = work.event;
                  return CUDA_SUCCESS;
              }))
SIMCUDA_GRAPH(cuGraphEventWaitNodeGetEvent, (CUgraphNode node, CUevent* out),
              with<EventWaitWork>(node, [out](EventWaitWork& work) {
                  *out = work.event;
                  return CUDA_SUCCESS;
              }))
SIMCUDA_GRAPH(cuGraphEventRecordNodeSetEvent, (CUgraphNode node, CUevent event),
              with<EventRecordWork>(node, [event](EventRecordWork& work) {
                  work.event = event;
                  return CUDA_SUCCESS;
              }))
SIMCUDA_GRAPH(cuGraphEventWaitNodeSetEvent, (CUgraphNode node, CUevent event),
              with<EventWaitWork>(node, [event](EventWaitWork& work) {
                  work.event = event;
                  return CUDA_SUCCESS;
              }))
