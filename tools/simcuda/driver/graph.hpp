#pragma once

#include "tools/simcuda/driver/driver.hpp"

#include <utility>
#include <variant>

/// CUDA graphs (driver API, "Graph Management"). Every function here expects the caller to hold the driver's
/// mutex, unless it says otherwise.
namespace simcuda {

/// What one node does. Kernels keep their own copy of their parameters, as the driver does.
struct KernelWork {
    CUfunction function = nullptr;
    const KernelEntry* entry = nullptr;
    Shape shape{};
    unsigned shared_bytes = 0;
    std::vector<char> values;    ///< laid out as in a parameter buffer
    std::vector<void*> pointers; ///< into `values`; given out by cuGraphKernelNodeGetParams

    void point();
};
struct CopyWork {
    CUDA_MEMCPY3D parameters;
};
struct SetWork {
    CUDA_MEMSET_NODE_PARAMS parameters;
};
struct HostWork {
    CUDA_HOST_NODE_PARAMS parameters;
};
struct ChildWork {
    std::shared_ptr<CUgraph_st> graph;
};
struct EventRecordWork {
    CUevent event;
};
struct EventWaitWork {
    CUevent event;
};
/// Memory of an allocation node: the address is the graph's as long as the graph or an executable graph made
/// from it lives.
struct GraphMemory {
    CUdeviceptr address = 0;
    bool live = false; ///< allocated by a launch and not freed since
    ~GraphMemory();
};
struct AllocWork {
    CUDA_MEM_ALLOC_NODE_PARAMS parameters;
    std::shared_ptr<GraphMemory> memory;
};
struct FreeWork {
    CUdeviceptr address;
};
struct ConditionalWork {
    CUDA_CONDITIONAL_NODE_PARAMS parameters;
    std::vector<std::shared_ptr<CUgraph_st>> bodies;
    std::vector<CUgraph> handles; ///< of `bodies`; the driver's own array, given out
};
struct EmptyWork {};

using Work = std::variant<KernelWork, CopyWork, SetWork, HostWork, ChildWork, EmptyWork, EventWaitWork,
                          EventRecordWork, AllocWork, FreeWork, ConditionalWork>;
CUgraphNodeType type_of(const Work& work);

} // namespace simcuda

struct CUgraphNode_st {
    CUgraph_st* graph = nullptr;
    simcuda::Work work;
    std::vector<CUgraphNode_st*> dependencies; ///< in the order in which they were added
};

struct CUgraph_st {
    std::vector<std::unique_ptr<CUgraphNode_st>> nodes;      ///< in the order in which they were added
    std::map<const CUgraphNode_st*, CUgraphNode_st*> origin; ///< of a clone's nodes: cuGraphNodeFindInClone
    bool owned = false;                                      ///< by a node of another graph
    unsigned instances = 0;                                  ///< executable graphs made from it that still live

    ~CUgraph_st();
};

namespace simcuda {

/// A node of an executable graph.
struct ExecNode {
    const CUgraphNode_st* key; ///< the node of the graph that it was made from
    Work work;
    std::vector<std::size_t> dependencies; ///< positions
    bool enabled = true;
    std::vector<std::vector<ExecNode>> inner; ///< of a child graph; of each body of a conditional node
};
using ExecNodes = std::vector<ExecNode>;

} // namespace simcuda

struct CUgraphExec_st {
    /// Replaced as a whole by updates: a launch that runs goes on with what it began with.
    std::shared_ptr<const simcuda::ExecNodes> nodes;
    CUgraph_st* graph = nullptr; ///< may be gone
    unsigned long long flags = 0;
};

namespace simcuda {

/// All handles that are good.
struct Graphs {
    std::unordered_set<const CUgraph_st*> graphs;
    std::unordered_set<const CUgraphNode_st*> nodes;
    std::unordered_set<const CUgraphExec_st*> execs;
    std::map<CUdeviceptr, std::weak_ptr<GraphMemory>> memory;
    std::map<CUgraphConditionalHandle, unsigned> conditions; ///< default values
};
Graphs& graphs();

std::shared_ptr<CUgraph_st> make_graph();
/// Hands it over to the program, which destroys it.
CUgraph give_graph(std::shared_ptr<CUgraph_st> graph);
/// nullptr: a dependency is no node of `graph`, or stands there twice.
CUgraphNode add_node(CUgraph_st& graph, Work work, const CUgraphNode* dependencies, std::size_t count);
/// Where copied nodes of child graphs and clones go.
void copy_nodes(const CUgraph_st& from, CUgraph_st& to);

bool is_graph(CUgraph graph);
/// Whether it has nodes that allocate or free.
bool holds_memory(const CUgraph_st& graph);

/// Fill `work` from what a program gives. An error: it is none.
CUresult kernel_work(KernelWork& work, CUfunction function, CUkernel kernel, const Shape& shape,
                     unsigned shared_bytes, void** parameters, void** extra);
CUresult alloc_work(AllocWork& work, const CUDA_MEM_ALLOC_NODE_PARAMS& parameters);
CUDA_MEMCPY3D flat_copy(std::uint64_t target, std::uint64_t source, std::uint64_t bytes);

/// A graph's memory that a stream or a plain call frees: true when it was live.
bool free_graph_memory(CUdeviceptr address);

/// Nodes in an order in which each comes after those it depends on; false: there is a circle.
bool sort_nodes(const CUgraph_st& graph, std::vector<const CUgraphNode_st*>& sorted);

/// Adds a node at the end of what `stream` has captured. INVALID_VALUE where it cannot be one.
CUresult capture_work(CUstream_st& stream, Work work);

} // namespace simcuda
