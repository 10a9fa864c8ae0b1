#include "analyzer/tables/graphs.hpp"

namespace umadvisor::tables {
namespace {

using trace::GraphNodeKind;

/// The most nodes that are looked at, whatever a file claims.
constexpr std::uint64_t most_steps = 50'000'000;
constexpr int deepest = 64; ///< graphs within graphs
constexpr std::size_t most_touches = 256;

} // namespace

LaunchGroup group_of(const reader::GraphNode& node) {
    return {node.function,
            {node.grid[0], node.grid[1], node.grid[2]},
            {node.block[0], node.block[1], node.block[2]},
            node.shared_bytes,
            false};
}

bool Graphs::below_conditional(const reader::GraphNode& node, const Nodes& nodes) {
    const reader::GraphNode* at = &node;
    for (int depth = 0; at->parent != 0 && depth < deepest; ++depth) {
        const auto found = nodes.find(at->parent);
        if (found == nodes.end())
            return false;
        at = found->second.node;
        if (at->kind == GraphNodeKind::conditional)
            return true;
    }
    return false;
}

Graphs::Graphs(const reader::Dictionary& dictionary, facts::Samples& samples)
    : dictionary_(dictionary), samples_(samples), budget_(most_steps) {
    // A base is always an earlier version; any other number counts as no base.
    for (const auto& [number, version] : dictionary.graph_versions) {
        const auto base = version.base < number ? root_.find(version.base) : root_.end();
        root_[number] = base == root_.end() ? number : base->second;
    }
}

bool Graphs::spend(std::uint64_t steps) {
    const bool enough = steps <= budget_;
    budget_ = enough ? budget_ - steps : 0;
    return enough;
}

void Graphs::add(const trace::GraphLaunch& launch) {
    if (launch.captured != 0) {
        ++work_.captured;
        return;
    }
    ++work_.launches;
    if (launch.status != 0) {
        ++work_.failed;
        return;
    }
    GraphTotals& totals = sites_[{launch.version, ids::StackId::of(launch), launch.entry}];
    ++totals.count;
    totals.ticks += launch.duration;
    samples_.await(launch.sample, [&totals](std::uint64_t ns) {
        ++totals.measured;
        totals.measured_ns += ns;
    });
}

/// Callers ask for the versions of one graph in the order of their numbers, each mostly the base of the next.
/// So the result for the last version is kept, and only differences are visited.
const Graphs::Nodes* Graphs::nodes_of(std::uint64_t version) {
    const auto& versions = dictionary_.graph_versions;
    const auto root = root_.find(version);
    if (root == root_.end())
        return nullptr;
    Built& built = built_[root->second];
    std::vector<const reader::GraphVersion*> path;
    std::uint64_t at = version;
    while (at != built.version) {
        const auto found = versions.find(at);
        if (found == versions.end() || !spend(1 + found->second.nodes.size()))
            return nullptr;
        path.push_back(&found->second);
        if (at == root->second) {
            built.nodes.clear();
            break;
        }
        at = found->second.base;
    }
    for (auto step = path.rbegin(); step != path.rend(); ++step)
        for (const reader::GraphNode& node : (*step)->nodes)
            if (node.kind != GraphNodeKind::toggle)
                built.nodes[node.number] = {&node, node.disabled};
            else if (const auto known = built.nodes.find(node.number); known != built.nodes.end())
                known->second.disabled = node.disabled;
    built.version = version;
    return &built.nodes;
}

const std::vector<GraphTouch>& Graphs::touches(std::uint64_t version) {
    const auto [entry, fresh] = touches_.try_emplace(version);
    std::vector<GraphTouch>& touches = entry->second;
    const Nodes* const nodes = fresh ? nodes_of(version) : nullptr;
    if (nodes == nullptr || !spend(nodes->size()))
        return touches;
    for (const auto& [number, current] : *nodes)
        for (const trace::AllocationId allocation : current.node->touched)
            if (!current.disabled && touches.size() < most_touches)
                touches.push_back({allocation, group_of(*current.node)});
    return touches;
}

void Graphs::replay(const GraphSite& site, std::uint64_t count, const Nodes& nodes, const Run& run) {
    for (const auto& [number, current] : nodes) {
        const reader::GraphNode* const node = current.node;
        const bool work = node->kind == GraphNodeKind::kernel || node->kind == GraphNodeKind::copy ||
                          node->kind == GraphNodeKind::set;
        if (!work || current.disabled)
            continue;
        if (below_conditional(*node, nodes)) {
            work_.conditional += count;
            continue;
        }
        if (node->kind == GraphNodeKind::copy) {
            work_.copies += count;
            work_.copied_bytes += count * node->bytes;
        } else {
            (node->kind == GraphNodeKind::kernel ? work_.kernels : work_.sets) += count;
        }
        run(site, *node, count);
    }
}

void Graphs::replay(const Run& run) {
    for (const auto& [site, totals] : sites_) {
        const Nodes* const nodes = nodes_of(site.version);
        if (nodes == nullptr || !spend(nodes->size())) {
            work_.unknown += totals.count;
            continue;
        }
        replay(site, totals.count, *nodes, run);
        work_.untold += totals.count * dictionary_.graph_versions.at(site.version).untold;
    }
}

} // namespace umadvisor::tables
