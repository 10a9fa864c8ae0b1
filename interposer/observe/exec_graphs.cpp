#include "interposer/observe/exec_graphs.hpp"

#include "interposer/base/blocks.hpp"
#include "interposer/base/hash.hpp"
#include "interposer/base/table.hpp"
#include "interposer/record/bounds.hpp"

#include <algorithm>

namespace umadvisor::observe {

namespace {

struct Slot {
    std::atomic<std::uint64_t> handle; ///< 0: free; written last
    ExecGraph* exec;

    bool free() const noexcept { return handle.load(std::memory_order_acquire) == 0; }
    std::uint64_t hash() const noexcept { return base::hash(handle); }
};

constinit base::Table<Slot, base::Searched::by_any_thread> table;
base::Arena arena;
base::Blocks blocks; ///< of nodes

} // namespace

constinit record::Mutex exec_graphs_lock{record::Lock::graphs};

ExecGraph* find_exec_graph(CUgraphExec handle) noexcept {
    const auto key = reinterpret_cast<std::uint64_t>(handle);
    if (key == 0)
        return nullptr;
    const Slot* const slot = table.find(
        base::hash(key), [&](const Slot& each) { return each.handle.load(std::memory_order_acquire) == key; });
    return slot != nullptr ? slot->exec : nullptr;
}

ExecGraph* exec_graph_for(CUgraphExec handle) noexcept {
    if (ExecGraph* const known = find_exec_graph(handle))
        return known;
    if (table.used() >= record::most(record::Bound::executable_graphs)) {
        record::reached(record::Bound::executable_graphs);
        return nullptr;
    }
    const auto key = reinterpret_cast<std::uint64_t>(handle);
    auto* const made = static_cast<ExecGraph*>(arena.take(sizeof(ExecGraph), alignof(ExecGraph)));
    Slot* const slot = made != nullptr ? table.add(base::hash(key)) : nullptr;
    if (slot == nullptr)
        return nullptr;
    slot->exec = made;
    slot->handle.store(key, std::memory_order_release);
    return made;
}

void ExecGraph::begin(std::uint64_t number) noexcept {
    forget();
    version = number;
    base = 0;
    managed_count = 0;
    scanned = true;
}

void ExecGraph::keep(const KnownNode* given, std::size_t given_count) noexcept {
    drop_nodes();
    if (given_count != 0)
        nodes = static_cast<KnownNode*>(blocks.take(given_count * sizeof(KnownNode)));
    if (nodes == nullptr)
        return;
    std::copy_n(given, given_count, nodes);
    count = given_count;
}

void ExecGraph::note_managed(const GraphNodeRead& node) noexcept {
    if (node.record.kind != trace::GraphNodeKind::kernel)
        return;
    scanned = scanned && node.record.scanned != 0;
    for (std::uint32_t i = 0; i < node.touched.managed_count; ++i) {
        const Allocation& reached = node.touched.managed[i];
        Allocation* const end = managed + managed_count;
        if (managed_count < Touched::max_managed &&
            std::none_of(managed, end, [&](const Allocation& known) { return known.id == reached.id; }))
            managed[managed_count++] = reached;
    }
}

void ExecGraph::publish() noexcept {
    std::uint64_t now = version, same = count;
    for (const KnownNode* node = nodes; node != nodes + count; ++node) {
        same = (same ^ node->hash) * 0xff51afd7ed558ccdu;
        if (node->kind == trace::GraphNodeKind::alloc)
            now |= allocates_bit;
    }
    alike.store(same, std::memory_order_relaxed);
    if (managed_count != 0 || (!scanned && allocations().managed_count() != 0))
        now |= managed_bit;
    word.store(now, std::memory_order_release);
}

std::size_t ExecGraph::find(CUgraphNode key) const noexcept {
    return static_cast<std::size_t>(
        std::find_if(nodes, nodes + count, [&](const KnownNode& node) { return node.key == key; }) - nodes);
}

void ExecGraph::forget() noexcept {
    drop_nodes();
    version = 0;
    word.store(0, std::memory_order_release);
}

void ExecGraph::drop_nodes() noexcept {
    if (nodes != nullptr)
        blocks.give(nodes, count * sizeof(KnownNode));
    nodes = nullptr;
    count = 0;
}

} // namespace umadvisor::observe
