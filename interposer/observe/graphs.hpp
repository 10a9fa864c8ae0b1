/// Executable graphs: which version of its nodes a launch runs.
///
/// A version is defined in the trace when a graph is instantiated, and again, as the difference, whenever the
/// program changes the executable graph. The driver gives the nodes of a graph, but not those of an executable
/// graph. So the nodes of each executable graph are kept by their handles in the graph that it was made from,
/// which are the handles that the program uses for later changes.
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
    std::uint64_t alike;  ///< equal for graphs that do the same
};
GraphVersion graph_version(CUgraphExec exec) noexcept;

/// `call.exec` was made from `call.graph`: reads the nodes and defines its first version. Memory of allocation
/// nodes becomes an allocation, recorded as made by `call`. Sets call.version.
void enter_graph(trace::Graph& call) noexcept;

/// `call.exec` was updated from `call.graph`.
void update_graph(trace::Graph& call) noexcept;

/// One node of `call.exec` was changed: `describe` fills in what it does now.
using DescribeNode = void (*)(GraphNodeRead& node, const void* given);
void update_node(trace::Graph& call, CUgraphNode node, DescribeNode describe, const void* given) noexcept;
void update_child(trace::Graph& call, CUgraphNode node, CUgraph child) noexcept;
void enable_node(trace::Graph& call, CUgraphNode node, bool enabled) noexcept;

/// `call.exec` is about to be destroyed, after which its handle may be used again at once.
void forget_graph(trace::Graph& call) noexcept;

} // namespace umadvisor::observe
