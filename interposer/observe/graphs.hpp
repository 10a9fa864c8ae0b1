/// Executable graphs: which version of its nodes a launch runs.
///
/// A version is defined in the trace when a graph is instantiated, and again, by what differs, whenever the
/// program changes the executable graph. The driver tells of a graph's nodes, never of an executable graph's:
/// so of each executable graph the nodes are remembered by their handles in the graph it was made from, which
/// is how the program names them in later changes.
#pragma once

#include "interposer/attach/entries.hpp"
#include "interposer/observe/graph_reader.hpp"
#include "trace/records.hpp"

#include <cstdint>

namespace umadvisor::observe {

/// What a launch needs to know. Lock-free.
struct GraphVersion {
    std::uint64_t number; ///< 0: not known
    bool allocates;       ///< it has allocation nodes
    bool managed;         ///< its kernels reach managed memory, or it is not known what they reach
    std::uint64_t alike;  ///< the same of graphs that do the same
};
GraphVersion graph_version(CUgraphExec exec) noexcept;

/// `call.exec` was made from `call.graph`: reads the nodes and defines its first version. Memory of allocation
/// nodes becomes an allocation, recorded as made by `call`. Sets call.version.
void enter_graph(trace::Graph& call) noexcept;

/// `call.exec` was updated from `call.graph`.
void update_graph(trace::Graph& call) noexcept;

/// One node of `call.exec` was set anew: `describe` tells what it does now.
using DescribeNode = void (*)(GraphNodeRead& node, const void* given);
void update_node(trace::Graph& call, CUgraphNode node, DescribeNode describe, const void* given) noexcept;
void update_child(trace::Graph& call, CUgraphNode node, CUgraph child) noexcept;
void enable_node(trace::Graph& call, CUgraphNode node, bool enabled) noexcept;

/// `call.exec` is about to be destroyed: its handle may come back at once.
void forget_graph(trace::Graph& call) noexcept;

} // namespace umadvisor::observe
