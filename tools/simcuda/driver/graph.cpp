// Graphs: what they consist of, dependencies, clones.
#include "tools/simcuda/driver/graph.hpp"
#include "tools/simcuda/driver/memory.hpp"
#include "tools/simcuda/driver/work.hpp"

#include <algorithm>
#include <cstring>

namespace simcuda {

Graphs& graphs() {
    static auto* only = new Graphs;
    return *only;
}

CUgraphNodeType type_of(const Work& work) {
    constexpr CUgraphNodeType types[] = {
        CU_GRAPH_NODE_TYPE_KERNEL,     CU_GRAPH_NODE_TYPE_MEMCPY,       CU_GRAPH_NODE_TYPE_MEMSET,
        CU_GRAPH_NODE_TYPE_HOST,       CU_GRAPH_NODE_TYPE_GRAPH,        CU_GRAPH_NODE_TYPE_EMPTY,
        CU_GRAPH_NODE_TYPE_WAIT_EVENT, CU_GRAPH_NODE_TYPE_EVENT_RECORD, CU_GRAPH_NODE_TYPE_MEM_ALLOC,
        CU_GRAPH_NODE_TYPE_MEM_FREE,   CU_GRAPH_NODE_TYPE_CONDITIONAL};
    static_assert(std::size(types) == std::variant_size_v<Work>);
    return types[work.index()];
}

void KernelWork::point() {
    pointers.clear();
    for (std::size_t i = 0; i < entry->parameter_count; ++i) {
        pointers.push_back(values.data() + entry->parameter_offsets[i]);
    }
    pointers.push_back(nullptr);
}

GraphMemory::~GraphMemory() {
    graphs().memory.erase(address);
    release_device_memory(address);
}

std::shared_ptr<CUgraph_st> make_graph() {
    auto made = std::make_shared<CUgraph_st>();
    graphs().graphs.insert(made.get());
    return made;
}

CUgraphNode add_node(CUgraph_st& graph, Work work, const CUgraphNode* dependencies, std::size_t count) {
    auto made = std::make_unique<CUgraphNode_st>();
    for (std::size_t i = 0; i < count; ++i) {
        CUgraphNode_st* const node = dependencies[i];
        if (!graphs().nodes.contains(node) || node->graph != &graph ||
            std::ranges::find(made->dependencies, node) != made->dependencies.end()) {
            return nullptr;
        }
        made->dependencies.push_back(node);
    }
    made->graph = &graph;
    made->work = std::move(work);
    if (auto* const kernel = std::get_if<KernelWork>(&made->work)) {
        kernel->point();
    }
    graphs().nodes.insert(made.get());
    return graph.nodes.emplace_back(std::move(made)).get();
}

void copy_nodes(const CUgraph_st& from, CUgraph_st& to) {
    for (const auto& node : from.nodes) {
        Work work = node->work;
        if (auto* const child = std::get_if<ChildWork>(&work)) {
            const auto inner = make_graph();
            inner->owned = true;
            copy_nodes(*child->graph, *inner);
            child->graph = inner;
        }
        std::vector<CUgraphNode_st*> dependencies;
        for (const CUgraphNode_st* dependency : node->dependencies) {
            dependencies.push_back(to.origin.at(dependency));
        }
        to.origin[node.get()] = add_node(to, std::move(work), dependencies.data(), dependencies.size());
    }
}

CUresult kernel_work(KernelWork& work, CUfunction function, CUkernel kernel, const Shape& shape,
                     unsigned shared_bytes, void** parameters, void** extra) {
    const CUkern_st* const found = find_kernel(function ? function : reinterpret_cast<CUfunction>(kernel));
    if (!found) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    const KernelEntry& entry = *found->entry;
    const char* const packed = packed_parameters(extra);
    if (!good_shape(shape) || (entry.parameter_count && !parameters && !packed)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    // The driver answers with a function whatever the node was made from.
    work.function = const_cast<CUfunction>(&found->function);
    work.entry = &entry;
    work.shape = shape;
    work.shared_bytes = shared_bytes;
    work.values.clear();
    for (std::size_t i = 0; i < entry.parameter_count; ++i) {
        const std::size_t offset = entry.parameter_offsets[i];
        const std::size_t bytes = entry.parameter_sizes[i];
        work.values.resize(offset + bytes);
        std::memcpy(work.values.data() + offset, parameters ? parameters[i] : packed + offset, bytes);
    }
    work.point();
    return CUDA_SUCCESS;
}

CUresult alloc_work(AllocWork& work, const CUDA_MEM_ALLOC_NODE_PARAMS& parameters) {
    CUdeviceptr address = 0;
    if (const CUresult failed = allocate_device_memory(&address, parameters.bytesize)) {
        return failed;
    }
    work.parameters = parameters;
    work.parameters.dptr = address;
    work.memory = std::make_shared<GraphMemory>();
    work.memory->address = address;
    graphs().memory[address] = work.memory;
    return CUDA_SUCCESS;
}

CUDA_MEMCPY3D flat_copy(std::uint64_t target, std::uint64_t source, std::uint64_t bytes) {
    CUDA_MEMCPY3D copy{};
    const auto host = [](std::uint64_t address) { return driver().classify(address) == pageable; };
    copy.srcMemoryType = host(source) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_UNIFIED;
    copy.dstMemoryType = host(target) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_UNIFIED;
    copy.srcHost = reinterpret_cast<const void*>(source);
    copy.dstHost = reinterpret_cast<void*>(target);
    copy.srcDevice = source;
    copy.dstDevice = target;
    copy.WidthInBytes = bytes;
    copy.Height = copy.Depth = 1;
    return copy;
}

bool free_graph_memory(CUdeviceptr address) {
    const auto found = graphs().memory.find(address);
    const auto memory = found == graphs().memory.end() ? nullptr : found->second.lock();
    return memory && std::exchange(memory->live, false);
}

bool is_graph(CUgraph graph) {
    return graphs().graphs.contains(graph);
}

bool holds_memory(const CUgraph_st& graph) {
    return std::ranges::any_of(graph.nodes, [](const auto& node) {
        return std::holds_alternative<AllocWork>(node->work) || std::holds_alternative<FreeWork>(node->work);
    });
}

bool sort_nodes(const CUgraph_st& graph, std::vector<const CUgraphNode_st*>& sorted) {
    std::unordered_set<const CUgraphNode_st*> done;
    while (sorted.size() < graph.nodes.size()) {
        const std::size_t before = sorted.size();
        for (const auto& node : graph.nodes) {
            if (!done.contains(node.get()) &&
                std::ranges::all_of(node->dependencies,
                                    [&done](const auto* dependency) { return done.contains(dependency); })) {
                done.insert(node.get());
                sorted.push_back(node.get());
            }
        }
        if (sorted.size() == before) {
            return false;
        }
    }
    return true;
}

} // namespace simcuda

using namespace simcuda;

CUgraph_st::~CUgraph_st() {
    for (const auto& node : nodes) {
        graphs().nodes.erase(node.get());
    }
    graphs().graphs.erase(this);
}

namespace {

/// Graphs that the program owns, by handle.
std::map<const CUgraph_st*, std::shared_ptr<CUgraph_st>>& owned() {
    static auto* only = new std::map<const CUgraph_st*, std::shared_ptr<CUgraph_st>>;
    return *only;
}

CUresult link(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, std::size_t count, bool add) {
    const Guard guard(driver().mutex);
    if (!is_graph(graph)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (!graphs().nodes.contains(from[i]) || !graphs().nodes.contains(to[i])) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        auto& dependencies = to[i]->dependencies;
        const auto there = std::ranges::find(dependencies, from[i]);
        if ((there != dependencies.end()) == add) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (add) {
            dependencies.push_back(from[i]);
        } else {
            dependencies.erase(there);
        }
    }
    return CUDA_SUCCESS;
}

} // namespace

namespace simcuda {

CUgraph give_graph(std::shared_ptr<CUgraph_st> graph) {
    CUgraph_st* const handle = graph.get();
    owned()[handle] = std::move(graph);
    return handle;
}

} // namespace simcuda

extern "C" CUresult CUDAAPI cuGraphCreate(CUgraph* graph, unsigned flags) {
    SIMCUDA_ENTER(Entry::cuGraphCreate, Needs::initialization)
    if (!graph || flags) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Guard guard(driver().mutex);
    *graph = give_graph(make_graph());
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuGraphDestroy(CUgraph graph) {
    SIMCUDA_ENTER(Entry::cuGraphDestroy, Needs::initialization)
    const Guard guard(driver().mutex);
    return owned().erase(graph) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

extern "C" CUresult CUDAAPI cuGraphClone(CUgraph* clone, CUgraph graph) {
    SIMCUDA_ENTER(Entry::cuGraphClone, Needs::initialization)
    const Guard guard(driver().mutex);
    if (!clone || !is_graph(graph) || holds_memory(*graph)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    auto made = make_graph();
    copy_nodes(*graph, *made);
    *clone = give_graph(std::move(made));
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuGraphNodeFindInClone(CUgraphNode* out, CUgraphNode node, CUgraph clone) {
    SIMCUDA_ENTER(Entry::cuGraphNodeFindInClone, Needs::initialization)
    const Guard guard(driver().mutex);
    const auto found = is_graph(clone) ? clone->origin.find(node)
                                       : std::map<const CUgraphNode_st*, CUgraphNode_st*>::iterator();
    if (!out || !is_graph(clone) || found == clone->origin.end()) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *out = found->second;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuGraphDestroyNode(CUgraphNode node) {
    SIMCUDA_ENTER(Entry::cuGraphDestroyNode, Needs::initialization)
    const Guard guard(driver().mutex);
    if (!graphs().nodes.contains(node) || holds_memory(*node->graph)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (const auto& other : node->graph->nodes) {
        std::erase(other->dependencies, node);
    }
    graphs().nodes.erase(node);
    std::erase_if(node->graph->nodes, [node](const auto& kept) { return kept.get() == node; });
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from,
                                                   const CUgraphNode* to, size_t count) {
    SIMCUDA_ENTER(Entry::cuGraphAddDependencies, Needs::initialization)
    return link(graph, from, to, count, true);
}

extern "C" CUresult CUDAAPI cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from,
                                                      const CUgraphNode* to, const CUgraphEdgeData*,
                                                      size_t count) {
    SIMCUDA_ENTER(Entry::cuGraphAddDependencies_v2, Needs::initialization)
    return link(graph, from, to, count, true);
}

extern "C" CUresult CUDAAPI cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from,
                                                      const CUgraphNode* to, size_t count) {
    SIMCUDA_ENTER(Entry::cuGraphRemoveDependencies, Needs::initialization)
    return link(graph, from, to, count, false);
}

extern "C" CUresult CUDAAPI cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from,
                                                         const CUgraphNode* to, const CUgraphEdgeData*,
                                                         size_t count) {
    SIMCUDA_ENTER(Entry::cuGraphRemoveDependencies_v2, Needs::initialization)
    return link(graph, from, to, count, false);
}

extern "C" CUresult CUDAAPI cuGraphConditionalHandleCreate(CUgraphConditionalHandle* handle, CUgraph graph,
                                                           CUcontext, unsigned value, unsigned flags) {
    SIMCUDA_ENTER(Entry::cuGraphConditionalHandleCreate, Needs::initialization)
    const Guard guard(driver().mutex);
    if (!handle || !is_graph(graph)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *handle = ++driver().ids;
    graphs().conditions[*handle] = flags & CU_GRAPH_COND_ASSIGN_DEFAULT ? value : 0;
    return CUDA_SUCCESS;
}
