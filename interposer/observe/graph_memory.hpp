/// Memory of the allocation nodes of graphs: an allocation from the graph's instantiation on, freed with the
/// executable graph or by the program, and made again by the next launch.
#pragma once

#include "interposer/observe/exec_graphs.hpp"

namespace umadvisor::observe {

/// Enters the memory of an allocation node as an allocation made by `call`, and gives the node its id.
void enter_graph_memory(GraphNodeRead& node, const trace::Graph& call) noexcept;

/// Gives a free node the id of the allocation that it frees, if that is known.
void name_freed_memory(GraphNodeRead& node) noexcept;

/// The executable graph is destroyed: `call` frees the rest of its memory. Under exec_graphs_lock.
void free_graph_memory(const ExecGraph& exec, const trace::Graph& call) noexcept;

/// Before a launch of a graph that allocates: enters memory again that the program has freed since.
void revive_graph_memory(CUgraphExec exec, const trace::GraphLaunch& call) noexcept;

/// The managed memory that a launch may reach, without what was freed.
void managed_of_graph(CUgraphExec exec, Touched& out) noexcept;

} // namespace umadvisor::observe
