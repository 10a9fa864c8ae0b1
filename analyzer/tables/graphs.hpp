/// Executable graphs: what each version consists of, and how often it was launched.
#pragma once

#include "analyzer/facts/samples.hpp"
#include "analyzer/reader/dictionary.hpp"
#include "analyzer/tables/launches.hpp"

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

namespace umadvisor::tables {

struct GraphSite {
    std::uint64_t version = 0;
    ids::StackId stack{};
    std::uint64_t entry = 0;
    auto operator<=>(const GraphSite&) const = default;
};

struct GraphTotals {
    std::uint64_t count = 0, ticks = 0; ///< launches that succeeded, and the time of their calls
    std::uint64_t measured = 0, measured_ns = 0;
};

/// An allocation that a kernel of a graph may reach.
struct GraphTouch {
    trace::AllocationId allocation{};
    LaunchGroup group;
};

/// What all launches of graphs add up to.
struct GraphWork {
    std::uint64_t launches = 0, failed = 0, captured = 0; ///< captured: became a node of another graph
    std::uint64_t unknown = 0;                            ///< launches of graphs whose nodes are not known
    std::uint64_t kernels = 0, copies = 0, copied_bytes = 0, sets = 0;
    std::uint64_t conditional = 0; ///< kernels, copies and sets below conditional nodes: how often is not known
    std::uint64_t untold = 0;      ///< nodes beyond the most that the recorder writes of one graph
};

LaunchGroup group_of(const reader::GraphNode& node);

/// Launches are only added up while events are read; their nodes are gone through once, at the end. So memory
/// and time grow with versions and launching lines, not with launches.
class Graphs {
public:
    /// Both must outlive it.
    Graphs(const reader::Dictionary& dictionary, facts::Samples& samples);

    void add(const trace::GraphLaunch& launch);

    /// What a launch of this version may reach; a bounded number of them.
    const std::vector<GraphTouch>& touches(std::uint64_t version);

    /// Calls `run(site, node, count)` for every node that ran, with how often it did. Call once, at the end.
    using Run = std::function<void(const GraphSite&, const reader::GraphNode&, std::uint64_t)>;
    void replay(const Run& run);

    const std::map<GraphSite, GraphTotals>& sites() const { return sites_; }
    const GraphWork& work() const { return work_; } ///< complete after replay()

private:
    struct Current {
        const reader::GraphNode* node;
        bool disabled;
    };
    using Nodes = std::map<std::uint64_t, Current>; ///< by number
    struct Built {
        std::uint64_t version = 0; ///< that `nodes` are of
        Nodes nodes;
    };
    const Nodes* nodes_of(std::uint64_t version);
    bool spend(std::uint64_t steps);
    static bool below_conditional(const reader::GraphNode& node, const Nodes& nodes);
    void replay(const GraphSite& site, std::uint64_t count, const Nodes& nodes, const Run& run);

    const reader::Dictionary& dictionary_;
    facts::Samples& samples_;
    std::unordered_map<std::uint64_t, std::uint64_t> root_; ///< of each version: where its bases end
    std::unordered_map<std::uint64_t, Built> built_;        ///< by root, the version asked for last
    std::uint64_t budget_;
    std::unordered_map<std::uint64_t, std::vector<GraphTouch>> touches_; ///< by version
    std::map<GraphSite, GraphTotals> sites_;
    GraphWork work_;
};

} // namespace umadvisor::tables
