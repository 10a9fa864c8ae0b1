/// Versions of an executable graph, each told by what differs from the one before.
#pragma once

#include "interposer/observe/exec_graphs.hpp"

namespace umadvisor::observe {

/// Number of the next version in this process.
std::uint64_t next_graph_version() noexcept;

/// Tells the trace that there is a version, of so many nodes.
void define_version(std::uint64_t version, std::uint64_t base, std::uint64_t nodes,
                    std::uint64_t untold) noexcept;

/// All that a node says of itself, in one word.
std::uint64_t hash_of(trace::GraphNode record) noexcept;

/// A version while it is being defined. All but its making is under exec_graphs_lock.
class GraphChange {
public:
    explicit GraphChange(ExecGraph& exec) noexcept;

    /// The node at `at` is now as `node` says: told if that differs.
    void put(std::size_t at, GraphNodeRead& node) noexcept;

    /// The same of whether it runs at all. That says nothing of what the node does, and the driver does not
    /// tell: so the trace has a record of it that refers to the node as it was.
    void enable(std::size_t at, bool enabled) noexcept;

    /// Launches run the new version from now on. Keeps the launched mark where nothing differs.
    void finish() noexcept;

private:
    void place(trace::GraphNode& record) noexcept;

    ExecGraph& exec_;
    std::uint64_t before_;  ///< what the executable graph was
    std::uint64_t version_; ///< what it becomes: the same as long as nothing differs
    bool extends_;          ///< that was never launched: what differs is added to it
};

} // namespace umadvisor::observe
