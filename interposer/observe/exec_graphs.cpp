#include "interposer/observe/exec_graphs.hpp"

#include "interposer/record/blocks.hpp"
#include "interposer/record/bounds.hpp"

#include <algorithm>

namespace umadvisor::observe {

namespace {

/// Open addressing, by handle.
struct Table {
    struct Slot {
        std::atomic<std::uint64_t> handle;
        ExecGraph* exec; ///< there before `handle` is
    };
    std::size_t capacity; ///< a power of two
    Slot slots[];

    Slot& place_of(std::uint64_t handle) noexcept {
        const auto hash = static_cast<std::size_t>((handle >> 4) * 0x9e3779b97f4a7c15u >> 32);
        for (std::size_t at = hash & (capacity - 1);; at = (at + 1) & (capacity - 1)) {
            const std::uint64_t there = slots[at].handle.load(std::memory_order_acquire);
            if (there == 0 || there == handle)
                return slots[at];
        }
    }

    void put(std::uint64_t handle, ExecGraph* exec) noexcept {
        Slot& slot = place_of(handle);
        slot.exec = exec;
        slot.handle.store(handle, std::memory_order_release);
    }
};

constinit std::atomic<Table*> table{nullptr};
std::size_t used = 0;
record::Arena arena;
record::Blocks blocks; ///< of nodes

/// The table with room for one more. One that is outgrown is never freed: others may be reading it.
Table* roomy() {
    Table* const now = table.load(std::memory_order_relaxed);
    if (now != nullptr && 2 * (used + 1) <= now->capacity)
        return now;
    if (used >= record::most(record::Bound::executable_graphs)) {
        record::reached(record::Bound::executable_graphs);
        return nullptr;
    }
    const std::size_t capacity = now == nullptr ? 256 : 2 * now->capacity;
    auto* const larger = static_cast<Table*>(record::map_pages(sizeof(Table) + capacity * sizeof(Table::Slot)));
    if (larger == nullptr)
        return nullptr;
    larger->capacity = capacity;
    for (std::size_t i = 0; now != nullptr && i < now->capacity; ++i)
        if (const std::uint64_t handle = now->slots[i].handle.load(std::memory_order_relaxed))
            larger->put(handle, now->slots[i].exec);
    table.store(larger, std::memory_order_release);
    return larger;
}

} // namespace

constinit record::Mutex exec_graphs_lock;

ExecGraph* find_exec_graph(CUgraphExec handle) noexcept {
    Table* const in = table.load(std::memory_order_acquire);
    const auto wanted = reinterpret_cast<std::uint64_t>(handle);
    if (in == nullptr || wanted == 0)
        return nullptr;
    const Table::Slot& slot = in->place_of(wanted);
    return slot.handle.load(std::memory_order_acquire) == wanted ? slot.exec : nullptr;
}

ExecGraph* exec_graph_for(CUgraphExec handle) noexcept {
    if (ExecGraph* const known = find_exec_graph(handle))
        return known;
    Table* const in = roomy();
    auto* const made =
        in != nullptr ? static_cast<ExecGraph*>(arena.take(sizeof(ExecGraph), alignof(ExecGraph))) : nullptr;
    if (made != nullptr) {
        in->put(reinterpret_cast<std::uint64_t>(handle), made);
        ++used;
    }
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
