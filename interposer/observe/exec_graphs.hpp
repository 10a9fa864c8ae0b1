/// What is remembered of each executable graph.
#pragma once

#include "interposer/observe/graph_reader.hpp"
#include "interposer/record/mutex.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace umadvisor::observe {

/// A node: enough to recognise it, and to see whether it has changed.
struct KnownNode {
    CUgraphNode key; ///< in the graph that the executable graph was made from
    std::uint64_t hash;
    std::uint64_t address, bytes;   ///< of an allocation node
    trace::AllocationId allocation; ///< the same
    std::uint32_t parent;
    trace::GraphNodeKind kind;
    bool disabled;
};

/// An executable graph. Never freed: a new graph with the same handle uses the entry again.
struct ExecGraph {
    // A launch reads one word: the version's number and what else it needs to know.
    static constexpr std::uint64_t allocates_bit = 1ull << 63, managed_bit = 1ull << 62,
                                   launched_bit = 1ull << 61;
    static constexpr std::uint64_t number_bits = launched_bit - 1;
    std::atomic<std::uint64_t> word;
    std::atomic<std::uint64_t> alike; ///< see GraphVersion

    // The rest is under exec_graphs_lock.
    KnownNode* nodes;
    std::size_t count;
    std::uint64_t version, base;              ///< what `version` differs from
    Allocation managed[Touched::max_managed]; ///< that its kernels have ever been seen to reach
    std::uint32_t managed_count;
    bool scanned; ///< false: it is not known what some kernel reaches

    bool launched() const noexcept { return (word.load(std::memory_order_relaxed) & launched_bit) != 0; }

    /// `number` is the first version of a new graph, of which nothing is known yet.
    void begin(std::uint64_t number) noexcept;
    void keep(const KnownNode* given, std::size_t given_count) noexcept;
    void note_managed(const GraphNodeRead& node) noexcept;

    /// Makes the current version visible to launches.
    void publish() noexcept;

    /// The index of the node with the handle `key`; `count` if there is none.
    std::size_t find(CUgraphNode key) const noexcept;

    void forget() noexcept;

private:
    void drop_nodes() noexcept;
};

extern record::Mutex exec_graphs_lock; ///< never held while the driver is called

/// Lock-free; nullptr for a handle never seen.
ExecGraph* find_exec_graph(CUgraphExec handle) noexcept;

/// The same, of a handle that may be new: under the lock. nullptr when there is no memory.
ExecGraph* exec_graph_for(CUgraphExec handle) noexcept;

} // namespace umadvisor::observe
