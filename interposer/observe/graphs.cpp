#include "interposer/observe/graphs.hpp"

#include "interposer/base/pages.hpp"
#include "interposer/observe/graph_change.hpp"
#include "interposer/observe/graph_memory.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/slow_path.hpp"

namespace umadvisor::observe {

namespace {

using trace::GraphNodeKind;

struct NodesRead {
    KnownNode nodes[max_graph_nodes];
};
constinit base::KeptPages kept_nodes{nullptr};

/// A graph that is read for the first time.
struct Entering {
    const trace::Graph& call;
    ExecGraph& exec;
    KnownNode* nodes; ///< room for max_graph_nodes
    std::size_t count = 0;

    static void accept(void* to, const GraphNodeRead& given) {
        auto& self = *static_cast<Entering*>(to);
        auto& node = const_cast<GraphNodeRead&>(given);
        const bool alloc = node.record.kind == GraphNodeKind::alloc;
        if (alloc && node.record.destination != 0)
            enter_graph_memory(node, self.call);
        else if (node.record.kind == GraphNodeKind::free)
            name_freed_memory(node);
        node.record.version = self.exec.version;
        record::define(node.record);
        self.exec.note_managed(node);
        self.nodes[self.count++] = {node.handle,
                                    hash_of(node.record),
                                    alloc ? node.record.destination : 0,
                                    alloc ? node.record.bytes : 0,
                                    alloc ? node.record.destination_allocation : trace::AllocationId{},
                                    static_cast<std::uint32_t>(node.record.parent),
                                    node.record.kind,
                                    false};
    }
};

/// A graph that is compared, node by node, with the one that is known.
struct Comparing {
    ExecGraph& exec;
    GraphChange change;
    std::size_t read = 0;
    bool matches = true;

    static void accept(void* to, const GraphNodeRead& given) {
        auto& self = *static_cast<Comparing*>(to);
        auto& node = const_cast<GraphNodeRead&>(given);
        const std::size_t at = self.read++;
        const record::Guard guard(exec_graphs_lock);
        if (at >= self.exec.count || self.exec.nodes[at].kind != node.record.kind)
            self.matches = false;
        else if (node.record.kind != GraphNodeKind::alloc &&
                 node.record.kind != GraphNodeKind::free) // cannot change
            self.change.put(at, node);
    }
};

struct NumbersRead {
    std::uint32_t of[max_graph_nodes + 1];
};
constinit base::KeptPages kept_numbers{nullptr};

/// A child graph whose inner nodes are compared. The nodes of an executable graph are in order, level by level.
struct Replacing {
    ExecGraph& exec;
    GraphChange change;
    std::uint32_t* number_of; ///< in the executable graph, of each node read so far
    std::uint32_t parent;

    static void accept(void* to, const GraphNodeRead& given) {
        auto& self = *static_cast<Replacing*>(to);
        auto& node = const_cast<GraphNodeRead&>(given);
        const std::uint32_t parent = node.record.parent == 0 ? self.parent : self.number_of[node.record.parent];
        const record::Guard guard(exec_graphs_lock);
        const ExecGraph& exec = self.exec;
        // The first inner node that was not compared yet: those of one parent are adjacent.
        std::size_t at = 0;
        const std::uint32_t before = self.number_of[node.record.node - 1];
        if (before != 0 && before < exec.count && exec.nodes[before - 1].parent == parent)
            at = before;
        else
            while (at < exec.count && exec.nodes[at].parent != parent)
                ++at;
        if (at >= exec.count || exec.nodes[at].parent != parent || exec.nodes[at].kind != node.record.kind) {
            self.number_of[node.record.node] = 0;
            return;
        }
        self.number_of[node.record.node] = static_cast<std::uint32_t>(at + 1);
        self.change.put(at, node);
    }
};

CUgraphExec exec_of(const trace::Graph& call) {
    return reinterpret_cast<CUgraphExec>(call.exec);
}

CUgraph graph_of(const trace::Graph& call) {
    return reinterpret_cast<CUgraph>(call.graph);
}

/// The executable graph that was changed, if its nodes are known. Under the lock.
ExecGraph* known_exec(const trace::Graph& call) {
    ExecGraph* const exec = find_exec_graph(exec_of(call));
    return exec != nullptr && exec->version != 0 ? exec : nullptr;
}

/// Changes one node of an executable graph that is known.
template <class Put>
void change_node(trace::Graph& call, CUgraphNode key, Put put) {
    const record::Quiet quiet;
    const record::SlowPath slow;
    const record::Guard guard(exec_graphs_lock);
    ExecGraph* const exec = known_exec(call);
    if (exec == nullptr)
        return;
    GraphChange change(*exec);
    if (const std::size_t at = exec->find(key); at != exec->count)
        put(change, *exec, at);
    change.finish();
    call.version = exec->version;
}

/// Whether the graph has the nodes of the known one. Changes of what a node does are recorded.
bool compare_graph(trace::Graph& call) {
    const record::SlowPath slow;
    ExecGraph* exec = nullptr;
    {
        const record::Guard guard(exec_graphs_lock);
        exec = known_exec(call);
    }
    if (exec == nullptr)
        return false;
    Comparing comparing{*exec, GraphChange(*exec)};
    std::uint64_t omitted = 0;
    const bool good = read_graph(graph_of(call), {&Comparing::accept, &comparing}, omitted);
    const record::Guard guard(exec_graphs_lock);
    if (!good || !comparing.matches || comparing.read != exec->count)
        return false;
    comparing.change.finish();
    call.version = exec->version;
    return true;
}

} // namespace

GraphVersion graph_version(CUgraphExec handle) noexcept {
    ExecGraph* const exec = find_exec_graph(handle);
    const std::uint64_t word = exec != nullptr ? exec->word.load(std::memory_order_acquire) : 0;
    if (word != 0 && (word & ExecGraph::launched_bit) == 0) [[unlikely]]
        exec->word.fetch_or(ExecGraph::launched_bit, std::memory_order_relaxed);
    return {word & ExecGraph::number_bits, (word & ExecGraph::allocates_bit) != 0,
            (word & ExecGraph::managed_bit) != 0, word != 0 ? exec->alike.load(std::memory_order_relaxed) : 0};
}

void enter_graph(trace::Graph& call) noexcept {
    const record::Quiet quiet;
    const record::SlowPath slow;
    ExecGraph* exec = nullptr;
    {
        const record::Guard guard(exec_graphs_lock);
        exec = exec_graph_for(exec_of(call));
        if (exec == nullptr)
            return;
        exec->begin(next_graph_version());
    }
    const base::Scratch<NodesRead> room(kept_nodes);
    if (!room)
        return;
    Entering entering{call, *exec, room->nodes};
    std::uint64_t omitted = 0;
    const bool good = read_graph(graph_of(call), {&Entering::accept, &entering}, omitted);
    define_version(exec->version, 0, entering.count, omitted);
    if (omitted != 0)
        record::note("a graph of %zu nodes was instantiated: %llu of them are not recorded",
                     entering.count + static_cast<std::size_t>(omitted),
                     static_cast<unsigned long long>(omitted));
    const record::Guard guard(exec_graphs_lock);
    if (good) {
        exec->keep(room->nodes, entering.count);
        exec->publish();
        call.version = exec->version;
    } else {
        exec->version = 0;
    }
}

void update_graph(trace::Graph& call) noexcept {
    const record::Quiet quiet;
    if (!compare_graph(call))
        enter_graph(call); // it is not known, or its nodes cannot be matched: all of it is new
}

void update_node(trace::Graph& call, CUgraphNode key, DescribeNode describe, const void* given) noexcept {
    const record::OffStack<GraphNodeRead> read;
    GraphNodeRead& node = *read;
    describe(node, given);
    change_node(call, key, [&](GraphChange& change, const ExecGraph& exec, std::size_t at) {
        if (exec.nodes[at].kind == node.record.kind)
            change.put(at, node);
    });
}

void enable_node(trace::Graph& call, CUgraphNode key, bool enabled) noexcept {
    change_node(call, key,
                [&](GraphChange& change, const ExecGraph&, std::size_t at) { change.enable(at, enabled); });
}

void update_child(trace::Graph& call, CUgraphNode key, CUgraph child) noexcept {
    const record::Quiet quiet;
    const record::SlowPath slow;
    const base::Scratch<NumbersRead> numbers(kept_numbers);
    if (!numbers)
        return;
    numbers->of[0] = 0;
    ExecGraph* exec = nullptr;
    std::size_t at = 0;
    {
        const record::Guard guard(exec_graphs_lock);
        exec = known_exec(call);
        at = exec != nullptr ? exec->find(key) : 0;
    }
    if (exec != nullptr && at != exec->count) {
        Replacing replacing{*exec, GraphChange(*exec), numbers->of, static_cast<std::uint32_t>(at + 1)};
        std::uint64_t omitted = 0;
        read_graph(child, {&Replacing::accept, &replacing}, omitted);
        const record::Guard guard(exec_graphs_lock);
        replacing.change.finish();
        call.version = exec->version;
    }
}

void forget_graph(trace::Graph& call) noexcept {
    const record::Quiet quiet;
    const record::Guard guard(exec_graphs_lock);
    ExecGraph* const exec = find_exec_graph(exec_of(call));
    if (exec == nullptr)
        return;
    free_graph_memory(*exec, call);
    call.version = exec->version;
    exec->forget();
}

} // namespace umadvisor::observe
