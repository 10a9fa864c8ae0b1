/// Memory of the allocation nodes of graphs: an allocation from the graph's instantiation on, freed with the
/// executable graph or by the program, and made again by the next launch.
#pragma once

#include "interposer/observe/exec_graphs.hpp"

namespace umadvisor::observe {

/// Memory of an allocation node is an allocation from now on, recorded as made by `call`; gives the node its
/// id.
void enter_graph_memory(GraphNodeRead& node, const trace::Graph& call) noexcept;

/// What a node that frees frees, if it is known.
void name_freed_memory(GraphNodeRead& node) noexcept;

/// The executable graph ends: what of its memory is left is freed by `call`. Under exec_graphs_lock.
void free_graph_memory(const ExecGraph& exec, const trace::Graph& call) noexcept;

/// Before a launch of a graph that allocates: memory that the program has freed since is made again.
void revive_graph_memory(CUgraphExec exec, const trace::GraphLaunch& call) noexcept;

/// Managed memory that a launch may reach and that is still there.
void managed_of_graph(CUgraphExec exec, Touched& out) noexcept;

} // namespace umadvisor::observe
