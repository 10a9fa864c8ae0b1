/// CUDA graphs: what an executable graph consists of, recorded once for each of its versions, and its launches.
/// FORMAT.md says how they belong together.
#pragma once

#include "trace/types.hpp"

namespace umadvisor::trace {

inline constexpr std::size_t max_dependencies = 16; ///< that are recorded of one node; more are counted

/// One node of one version of an executable graph. A definition. Node 0 stands for the version itself: its
/// `nodes` says how many nodes the graph has.
struct GraphNode {
    static constexpr Type type = Type::graph_node;
    static constexpr std::string_view name = "GraphNode";
    std::uint64_t version = 0; ///< numbered from 1 in the whole file
    std::uint64_t base = 0;    ///< the version that this one differs from; 0: it differs from nothing
    std::uint64_t node = 0;    ///< from 1; nodes of child graphs and conditional bodies are numbered on
    GraphNodeKind kind{};
    std::uint64_t parent = 0;            ///< the child graph's or conditional node that holds it
    std::uint64_t disabled = 0;          ///< 1: skipped when the graph is launched (cuGraphNodeSetEnabled)
    std::uint64_t nodes = 0, untold = 0; ///< of node 0: how many are recorded, and how many more there are
    std::uint64_t bytes = 0;             ///< copy, set, alloc
    std::uint64_t destination = 0;       ///< copy, set, alloc, free
    AllocationId destination_allocation{};
    Memory destination_memory{};
    std::uint64_t source = 0; ///< copy
    AllocationId source_allocation{};
    Memory source_memory{};
    std::uint64_t host_range = 0; ///< of the pageable end
    std::uint64_t value = 0;      ///< set: what to; event: its handle; host function: its address
    std::uint64_t function = 0;   ///< kernel, as the shape of a launch has it
    std::uint64_t grid_x = 0, grid_y = 0, grid_z = 0, block_x = 0, block_y = 0, block_z = 0, shared_bytes = 0;
    std::uint64_t scanned = 0;
    Numbers<max_touched, AllocationId> touched;
    std::uint64_t untold_touched = 0;
    Numbers<max_dependencies> dependencies; ///< nodes that come before it
    std::uint64_t untold_dependencies = 0;

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("version", r.version);
        v.number("base", r.base);
        v.number("node", r.node);
        v.number("kind", r.kind);
        v.number("parent", r.parent);
        v.number("disabled", r.disabled);
        v.numbers("dependencies", r.dependencies);
        v.number("untold_dependencies", r.untold_dependencies);
        v.number("nodes", r.nodes);
        v.number("untold", r.untold);
        v.number("bytes", r.bytes);
        v.number("destination", r.destination);
        v.number("destination_allocation", r.destination_allocation);
        v.number("destination_memory", r.destination_memory);
        v.number("source", r.source);
        v.number("source_allocation", r.source_allocation);
        v.number("source_memory", r.source_memory);
        v.number("host_range", r.host_range);
        v.number("value", r.value);
        v.number("function", r.function);
        v.number("grid_x", r.grid_x);
        v.number("grid_y", r.grid_y);
        v.number("grid_z", r.grid_z);
        v.number("block_x", r.block_x);
        v.number("block_y", r.block_y);
        v.number("block_z", r.block_z);
        v.number("shared_bytes", r.shared_bytes);
        v.number("scanned", r.scanned);
        v.numbers("touched", r.touched);
        v.number("untold_touched", r.untold_touched);
    }
};

/// A launch of an executable graph: all nodes of its version run once.
struct GraphLaunch {
    static constexpr Type type = Type::graph_launch;
    static constexpr std::string_view name = "GraphLaunch";
    std::uint64_t entry = 0, start = 0, duration = 0, stack = 0;
    std::uint64_t version = 0; ///< 0: its nodes are not known
    StreamId stream{};
    std::uint64_t status = 0; ///< CUresult
    std::uint64_t sample = 0; ///< device_time record that will hold the device's time of the whole graph
    std::uint64_t captured = 0;

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("entry", r.entry);
        v.number("start", r.start);
        v.number("duration", r.duration);
        v.number("version", r.version);
        v.number("stack", r.stack);
        v.number("stream", r.stream);
        v.number("status", r.status);
        v.number("sample", r.sample);
        v.number("captured", r.captured);
    }
};

/// An executable graph was made, changed or destroyed, or a capture began or ended.
struct Graph {
    static constexpr Type type = Type::graph;
    static constexpr std::string_view name = "Graph";
    std::uint64_t entry = 0, start = 0, duration = 0, stack = 0;
    GraphAction action{};
    std::uint64_t graph = 0;   ///< CUgraph it was made from, updated from, or captured into
    std::uint64_t exec = 0;    ///< CUgraphExec
    std::uint64_t version = 0; ///< of `exec` from now on
    StreamId stream{};         ///< of a capture
    std::uint64_t status = 0;

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("entry", r.entry);
        v.number("start", r.start);
        v.number("duration", r.duration);
        v.number("stack", r.stack);
        v.number("action", r.action);
        v.number("graph", r.graph);
        v.number("exec", r.exec);
        v.number("version", r.version);
        v.number("stream", r.stream);
        v.number("status", r.status);
    }
};

} // namespace umadvisor::trace
