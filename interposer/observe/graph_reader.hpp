/// Reading what a graph consists of from the driver.
#pragma once

#include "interposer/attach/entries.hpp"
#include "interposer/observe/touched.hpp"
#include "trace/graph_records.hpp"

#include <cstddef>
#include <cstdint>

namespace umadvisor::observe {

inline constexpr std::size_t max_graph_nodes = 65536; ///< of one graph, inner ones included

/// One node as it stands in the driver.
struct GraphNodeRead {
    trace::GraphNode record; ///< all but `version` and `base`
    CUgraphNode handle = nullptr;
    Touched touched; ///< by a kernel
};

/// Takes the nodes one by one, in the order of their numbers.
struct GraphNodeSink {
    void (*take)(void* to, const GraphNodeRead& node);
    void* to;
};

/// Goes through `graph` and what its child and conditional nodes hold: level by level, so the nodes of one
/// graph are numbered without gaps, in the driver's order. `untold` says how many nodes there are beyond
/// max_graph_nodes. False: the driver does not tell, or there is no memory. Calls nothing that a capture could
/// mind, and takes no lock that the driver may wait for.
bool read_graph(CUgraph graph, const GraphNodeSink& sink, std::uint64_t& untold) noexcept;

/// What one node does, from parameters that the program gave for it; sets nothing but that.
void describe_kernel(trace::GraphNode& record, const CUDA_KERNEL_NODE_PARAMS_v2& given,
                     Touched& touched) noexcept;
void describe_copy(trace::GraphNode& record, const CUDA_MEMCPY3D& given) noexcept;
void describe_set(trace::GraphNode& record, const CUDA_MEMSET_NODE_PARAMS& given) noexcept;

/// The bodies of a conditional node, told when it is made: later the driver tells of them to nobody. `bodies`
/// is the driver's own array and lives as long as the node.
void note_conditional(CUgraphNode node, const CUgraph* bodies, std::size_t count) noexcept;

} // namespace umadvisor::observe
