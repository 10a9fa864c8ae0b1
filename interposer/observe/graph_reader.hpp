/// Reads the nodes of a graph from the driver.
#pragma once

#include "interposer/attach/entries.hpp"
#include "interposer/observe/touched.hpp"
#include "trace/graph_records.hpp"

#include <cstddef>
#include <cstdint>

namespace umadvisor::observe {

inline constexpr std::size_t max_graph_nodes = 65536; ///< of one graph, inner ones included

/// One node as the driver describes it.
struct GraphNodeRead {
    trace::GraphNode record; ///< all but `version` and `base`
    CUgraphNode handle = nullptr;
    Touched touched; ///< by a kernel
};

/// Receives the nodes one by one, in the order of their numbers.
struct GraphNodeSink {
    void (*accept)(void* to, const GraphNodeRead& node);
    void* to;
};

/// Goes through `graph` and what its child and conditional nodes hold: level by level, so the nodes of one
/// graph are numbered without gaps, in the driver's order. `omitted` gets the number of nodes beyond
/// max_graph_nodes. False if the driver refuses, or without memory. Makes no call that would invalidate a
/// capture, and holds no lock during calls of the driver.
bool read_graph(CUgraph graph, const GraphNodeSink& sink, std::uint64_t& omitted) noexcept;

/// What one node does, from parameters that the program gave for it; sets nothing but that.
void describe_kernel(trace::GraphNode& record, const CUDA_KERNEL_NODE_PARAMS_v2& given,
                     Touched& touched) noexcept;
void describe_copy(trace::GraphNode& record, const CUDA_MEMCPY3D& given) noexcept;
void describe_set(trace::GraphNode& record, const CUDA_MEMSET_NODE_PARAMS& given) noexcept;

/// Notes the bodies of a conditional node when it is made, since the driver does not give them later. `bodies`
/// is the driver's own array and lives as long as the node.
void note_conditional(CUgraphNode node, const CUgraph* bodies, std::size_t count) noexcept;

} // namespace umadvisor::observe
