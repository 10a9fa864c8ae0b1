/// Versions of an executable graph, each recorded as the difference to the one before.
#pragma once

#include "interposer/observe/exec_graphs.hpp"

namespace umadvisor::observe {

/// Number of the next version in this process.
std::uint64_t next_graph_version() noexcept;

/// Records a version with `nodes` nodes, and `omitted` ones that are not recorded.
void define_version(std::uint64_t version, std::uint64_t base, std::uint64_t nodes,
                    std::uint64_t omitted) noexcept;

/// A hash of all that a node's record says.
std::uint64_t hash_of(trace::GraphNode record) noexcept;

/// A version that is being defined. All but the constructor runs under exec_graphs_lock.
class GraphChange {
public:
    explicit GraphChange(ExecGraph& exec) noexcept;

    /// The node at index `at` is now as `node` says; recorded if that differs.
    void put(std::size_t at, GraphNodeRead& node) noexcept;

    /// The node at index `at` is enabled or disabled now. The driver does not give this with the node, so it
    /// has a record of its own that refers to the node.
    void enable(std::size_t at, bool enabled) noexcept;

    /// Launches run the new version from now on. Keeps the launched bit if nothing differs.
    void finish() noexcept;

private:
    void assign_version(trace::GraphNode& record) noexcept;

    ExecGraph& exec_;
    std::uint64_t before_;  ///< the version before
    std::uint64_t version_; ///< the new version; equal to before_ as long as nothing differs
    bool extends_;          ///< before_ was never launched, so differences are added to it
};

} // namespace umadvisor::observe
