#include "interposer/observe/graphs.hpp"

#include "interposer/observe/allocations.hpp"
#include "interposer/record/blocks.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/pages.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/slow_path.hpp"

#include <algorithm>
#include <atomic>
#include <string_view>

namespace umadvisor::observe {

namespace {

using trace::GraphNodeKind;

/// What is remembered of a node: enough to know it again, and whether it has changed.
struct Node {
    CUgraphNode key; ///< in the graph that the executable graph was made from
    std::uint64_t hash;
    std::uint64_t address, bytes, allocation; ///< of an allocation node
    std::uint32_t parent;
    GraphNodeKind kind;
    bool disabled;
};

/// An executable graph. Never freed: a handle that comes back takes its place.
struct Exec {
    Node* nodes;
    std::size_t count;
    std::uint64_t version, base;              ///< what `version` differs from
    Allocation managed[Touched::max_managed]; ///< that its kernels have ever been seen to reach
    std::uint32_t managed_count;
    bool scanned; ///< false: it is not known what some kernel reaches
};

// A launch reads one word: the version's number and what else it needs to know.
constexpr std::uint64_t allocates_bit = 1ull << 63, managed_bit = 1ull << 62, launched_bit = 1ull << 61;
constexpr std::uint64_t number_bits = launched_bit - 1;

struct Slot {
    std::atomic<std::uint64_t> handle, word;
    Exec* exec; ///< under the lock
};

struct Table {
    std::size_t capacity; ///< a power of two
    Slot slots[];
};

record::Mutex mutex; ///< never held while the driver is called
constinit std::atomic<Table*> table{nullptr};
constinit std::atomic<std::uint64_t> last_version{0};
std::size_t used = 0;
record::Arena arena;
record::Blocks blocks; ///< nodes

Slot& place_in(Table& in, std::uint64_t handle) {
    std::size_t at = static_cast<std::size_t>((handle >> 4) * 0x9e3779b97f4a7c15u >> 32) & (in.capacity - 1);
    for (;; at = (at + 1) & (in.capacity - 1)) {
        const std::uint64_t there = in.slots[at].handle.load(std::memory_order_acquire);
        if (there == 0 || there == handle)
            return in.slots[at];
    }
}

Slot* find(CUgraphExec exec) {
    Table* const in = table.load(std::memory_order_acquire);
    const auto handle = reinterpret_cast<std::uint64_t>(exec);
    if (in == nullptr || handle == 0)
        return nullptr;
    Slot& slot = place_in(*in, handle);
    return slot.handle.load(std::memory_order_acquire) == handle ? &slot : nullptr;
}

/// Under the lock. A table that is outgrown is never freed: others may be reading it.
Slot* slot_for(CUgraphExec exec) {
    const auto handle = reinterpret_cast<std::uint64_t>(exec);
    Table* in = table.load(std::memory_order_relaxed);
    if (in == nullptr || 2 * (used + 1) > in->capacity) {
        const std::size_t capacity = in == nullptr ? 256 : 2 * in->capacity;
        auto* const larger = static_cast<Table*>(record::map_pages(sizeof(Table) + capacity * sizeof(Slot)));
        if (larger == nullptr)
            return nullptr;
        larger->capacity = capacity;
        for (std::size_t i = 0; in != nullptr && i < in->capacity; ++i)
            if (const std::uint64_t there = in->slots[i].handle.load(std::memory_order_relaxed)) {
                Slot& to = place_in(*larger, there);
                to.word.store(in->slots[i].word.load(std::memory_order_relaxed), std::memory_order_relaxed);
                to.exec = in->slots[i].exec;
                to.handle.store(there, std::memory_order_relaxed);
            }
        table.store(larger, std::memory_order_release);
        in = larger;
    }
    Slot& slot = place_in(*in, handle);
    if (slot.exec == nullptr)
        slot.exec = static_cast<Exec*>(arena.take(sizeof(Exec), alignof(Exec)));
    if (slot.exec == nullptr)
        return nullptr;
    if (slot.handle.load(std::memory_order_relaxed) == 0) {
        slot.handle.store(handle, std::memory_order_release);
        ++used;
    }
    return &slot;
}

/// Hash of all that a node says of itself.
struct Hash {
    std::uint64_t value = 0x9e3779b97f4a7c15u;
    void add(std::uint64_t word) noexcept {
        value = (value ^ word) * 0xff51afd7ed558ccdu;
        value ^= value >> 32;
    }
    template <class T>
    void number(std::string_view key, const T& word) noexcept {
        if (key != "version" && key != "base")
            add(static_cast<std::uint64_t>(word));
    }
    template <std::size_t N>
    void numbers(std::string_view key, const trace::Numbers<N>& words) noexcept {
        if (key == "dependencies") // they never change
            return;
        add(words.count);
        for (const std::uint64_t word : words)
            add(word);
    }
};

std::uint64_t hash_of(trace::GraphNode record) {
    record.untold_dependencies = 0;
    Hash hash;
    trace::GraphNode::fields(record, hash);
    return hash.value;
}

void note_managed(Exec& exec, const GraphNodeRead& node) {
    if (node.record.kind != GraphNodeKind::kernel)
        return;
    exec.scanned = exec.scanned && node.record.scanned != 0;
    for (std::uint32_t i = 0; i < node.touched.managed_count; ++i) {
        const Allocation& reached = node.touched.managed[i];
        Allocation* const end = exec.managed + exec.managed_count;
        if (exec.managed_count < Touched::max_managed &&
            std::none_of(exec.managed, end, [&](const Allocation& known) { return known.id == reached.id; }))
            exec.managed[exec.managed_count++] = reached;
    }
}

/// Memory of an allocation node is an allocation from now on. One that a captured cuMemAllocAsync has entered
/// keeps its id.
void enter_memory(GraphNodeRead& node, const trace::Graph& call) {
    Allocation known;
    if (!allocations().find(node.record.destination, known) || known.address != node.record.destination) {
        known = {};
        known.id = allocations().next_id();
        known.address = node.record.destination;
        known.bytes = node.record.bytes;
        known.memory = trace::Memory::device;
        allocations().insert(known);
    }
    node.record.destination_allocation = known.id;
    trace::Alloc record;
    record.entry = call.entry;
    record.start = call.start;
    record.stack = call.stack;
    record.allocation = known.id;
    record.address = known.address;
    record.bytes = node.record.bytes;
    record.memory = trace::Memory::device;
    record.part = 1;
    record::write(record);
}

void define_version(std::uint64_t version, std::uint64_t base, std::uint64_t nodes, std::uint64_t untold) {
    trace::GraphNode record;
    record.version = version;
    record.base = base;
    record.nodes = nodes;
    record.untold = untold;
    record::define(record);
}

/// A version while it is being defined.
struct Change {
    Exec* exec;
    std::uint64_t before;  ///< what the executable graph was
    std::uint64_t version; ///< what it becomes: the same as long as nothing differs
    bool extends;          ///< that was never launched: what differs is added to it
    std::size_t read = 0;
    bool matches = true;

    /// Under the lock.
    Change(Slot& slot)
        : exec(slot.exec),
          before(slot.exec->version),
          version(before),
          extends((slot.word.load(std::memory_order_relaxed) & launched_bit) == 0) {}

    /// Gives what differs its version.
    void place(trace::GraphNode& record) {
        if (version == before && !extends) {
            version = last_version.fetch_add(1, std::memory_order_relaxed) + 1;
            define_version(version, before, exec->count, 0);
        }
        record.version = version;
        record.base = version == before ? exec->base : before;
    }

    void put(std::size_t at, GraphNodeRead& node) {
        Node& known = exec->nodes[at];
        node.record.node = at + 1;
        node.record.parent = known.parent;
        node.record.disabled = known.disabled;
        const std::uint64_t hash = hash_of(node.record);
        if (hash == known.hash)
            return;
        known.hash = hash;
        place(node.record);
        node.record.dependencies.count = 0;
        node.record.untold_dependencies = 0;
        record::define(node.record);
        note_managed(*exec, node);
    }
};

/// What launches will read. Under the lock.
void publish(Slot& slot) {
    const Exec& exec = *slot.exec;
    std::uint64_t word = exec.version;
    for (std::size_t i = 0; i < exec.count; ++i)
        if (exec.nodes[i].kind == GraphNodeKind::alloc)
            word |= allocates_bit;
    if (exec.managed_count != 0 || (!exec.scanned && allocations().managed_count() != 0))
        word |= managed_bit;
    slot.word.store(word, std::memory_order_release);
}

/// Keeps the launched mark where the version is still the same.
void finish(Slot& slot, const Change& change) {
    if (change.version != change.before) {
        slot.exec->version = change.version;
        slot.exec->base = change.before;
        publish(slot);
    } else if (change.extends) {
        publish(slot);
    }
}

void release(Exec& exec) {
    if (exec.nodes != nullptr)
        blocks.give(exec.nodes, exec.count * sizeof(Node));
    exec.nodes = nullptr;
    exec.count = 0;
}

/// A graph that is read for the first time.
struct Entering {
    const trace::Graph& call;
    Exec& exec;
    Node* nodes; ///< room for max_graph_nodes
    std::size_t count = 0;

    static void take(void* to, const GraphNodeRead& given) {
        auto& self = *static_cast<Entering*>(to);
        auto& node = const_cast<GraphNodeRead&>(given);
        if (node.record.kind == GraphNodeKind::alloc && node.record.destination != 0)
            enter_memory(node, self.call);
        else if (node.record.kind == GraphNodeKind::free) {
            Allocation known;
            if (allocations().find(node.record.destination, known))
                node.record.destination_allocation = known.id;
        }
        node.record.version = self.exec.version;
        record::define(node.record);
        note_managed(self.exec, node);
        const bool alloc = node.record.kind == GraphNodeKind::alloc;
        self.nodes[self.count++] = {node.handle,
                                    hash_of(node.record),
                                    alloc ? node.record.destination : 0,
                                    alloc ? node.record.bytes : 0,
                                    alloc ? node.record.destination_allocation : 0,
                                    static_cast<std::uint32_t>(node.record.parent),
                                    node.record.kind,
                                    false};
    }
};

/// One position after the other of what is known already.
struct Comparing {
    Change change;

    static void take(void* to, const GraphNodeRead& given) {
        Change& change = static_cast<Comparing*>(to)->change;
        auto& node = const_cast<GraphNodeRead&>(given);
        const std::size_t at = change.read++;
        const record::Guard guard(mutex);
        if (at >= change.exec->count || change.exec->nodes[at].kind != node.record.kind) {
            change.matches = false;
            return;
        }
        const Node& known = change.exec->nodes[at];
        if (known.kind == GraphNodeKind::alloc || known.kind == GraphNodeKind::free)
            return; // cannot be changed
        change.put(at, node);
    }
};

/// The inner nodes of a child graph, which stand behind one another level by level.
struct Replacing {
    Change change;
    std::uint32_t* number_of; ///< in the executable graph, of each node read so far
    std::uint32_t parent;

    static void take(void* to, const GraphNodeRead& given) {
        auto& self = *static_cast<Replacing*>(to);
        auto& node = const_cast<GraphNodeRead&>(given);
        const std::uint32_t parent = node.record.parent == 0 ? self.parent : self.number_of[node.record.parent];
        const record::Guard guard(mutex);
        Exec& exec = *self.change.exec;
        // The first inner node not yet taken: those of one parent follow one another.
        std::size_t at = 0;
        const std::uint32_t before = self.number_of[node.record.node - 1];
        if (before != 0 && before < exec.count && exec.nodes[before - 1].parent == parent)
            at = before;
        else
            while (at < exec.count && exec.nodes[at].parent != parent)
                ++at;
        if (at >= exec.count || exec.nodes[at].parent != parent || exec.nodes[at].kind != node.record.kind) {
            self.change.matches = false;
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

/// Changes one node of an executable graph that is known.
template <class Put>
void change_node(trace::Graph& call, CUgraphNode key, Put put) {
    const record::Quiet quiet;
    const record::SlowPath slow;
    const record::Guard guard(mutex);
    Slot* const slot = find(exec_of(call));
    if (slot == nullptr || slot->exec->version == 0)
        return;
    Exec& exec = *slot->exec;
    Change change(*slot);
    for (std::size_t at = 0; at < exec.count; ++at)
        if (exec.nodes[at].key == key) {
            put(change, at);
            break;
        }
    finish(*slot, change);
    call.version = exec.version;
}

} // namespace

GraphVersion graph_version(CUgraphExec exec) noexcept {
    Slot* const slot = find(exec);
    const std::uint64_t word = slot != nullptr ? slot->word.load(std::memory_order_acquire) : 0;
    if (word != 0 && (word & launched_bit) == 0) [[unlikely]]
        slot->word.fetch_or(launched_bit, std::memory_order_relaxed);
    return {word & number_bits, (word & allocates_bit) != 0, (word & managed_bit) != 0};
}

void enter_graph(trace::Graph& call) noexcept {
    const record::Quiet quiet;
    const record::SlowPath slow;
    Exec* exec = nullptr;
    {
        const record::Guard guard(mutex);
        Slot* const slot = slot_for(exec_of(call));
        if (slot == nullptr)
            return;
        exec = slot->exec;
        release(*exec);
        exec->version = last_version.fetch_add(1, std::memory_order_relaxed) + 1;
        exec->base = 0;
        exec->managed_count = 0;
        exec->scanned = true;
        slot->word.store(0, std::memory_order_release);
    }
    auto* const room = static_cast<Node*>(record::map_pages(max_graph_nodes * sizeof(Node)));
    if (room == nullptr)
        return;
    Entering entering{call, *exec, room};
    std::uint64_t untold = 0;
    const bool good = read_graph(graph_of(call), {&Entering::take, &entering}, untold);
    define_version(exec->version, 0, entering.count, untold);
    if (untold != 0)
        record::note("a graph of %zu nodes was instantiated: %llu of them are not told",
                     entering.count + static_cast<std::size_t>(untold),
                     static_cast<unsigned long long>(untold));
    const record::Guard guard(mutex);
    Slot* const slot = find(exec_of(call));
    if (good && slot != nullptr) {
        if (entering.count != 0) {
            exec->nodes = static_cast<Node*>(blocks.take(entering.count * sizeof(Node)));
            if (exec->nodes != nullptr)
                std::copy_n(room, entering.count, exec->nodes);
        }
        exec->count = exec->nodes != nullptr ? entering.count : 0;
        publish(*slot);
        call.version = exec->version;
    } else {
        exec->version = 0;
    }
    record::unmap_pages(room, max_graph_nodes * sizeof(Node));
}

void update_graph(trace::Graph& call) noexcept {
    const record::Quiet quiet;
    bool again = true;
    Slot* slot = nullptr;
    {
        const record::Guard guard(mutex);
        slot = find(exec_of(call));
    }
    if (slot != nullptr && slot->exec->version != 0) {
        const record::SlowPath slow;
        Comparing comparing{Change(*slot)};
        Change& change = comparing.change;
        std::uint64_t untold = 0;
        const bool good = read_graph(graph_of(call), {&Comparing::take, &comparing}, untold);
        const record::Guard guard(mutex);
        again = !good || !change.matches || change.read != change.exec->count;
        slot = find(exec_of(call));
        if (!again && slot != nullptr) {
            finish(*slot, change);
            call.version = slot->exec->version;
        }
    }
    if (again)
        enter_graph(call); // not known, or paired otherwise than we can see: all of it is new
}

void update_node(trace::Graph& call, CUgraphNode key, DescribeNode describe, const void* given) noexcept {
    GraphNodeRead node;
    describe(node, given);
    change_node(call, key, [&](Change& change, std::size_t at) {
        if (change.exec->nodes[at].kind == node.record.kind)
            change.put(at, node);
    });
}

void enable_node(trace::Graph& call, CUgraphNode key, bool enabled) noexcept {
    // Enabling says nothing of what the node does, and the driver does not tell: so the trace has a record of
    // it that refers to the node as it was.
    change_node(call, key, [&](Change& change, std::size_t at) {
        Node& known = change.exec->nodes[at];
        if (known.disabled == !enabled)
            return;
        known.disabled = !enabled;
        trace::GraphNode record;
        change.place(record);
        record.node = at + 1;
        record.kind = GraphNodeKind::toggle;
        record.disabled = known.disabled;
        record::define(record);
    });
}

void update_child(trace::Graph& call, CUgraphNode key, CUgraph child) noexcept {
    const record::Quiet quiet;
    const record::SlowPath slow;
    auto* const numbers =
        static_cast<std::uint32_t*>(record::map_pages((max_graph_nodes + 1) * sizeof(std::uint32_t)));
    Slot* slot = nullptr;
    std::uint32_t parent = 0;
    {
        const record::Guard guard(mutex);
        slot = find(exec_of(call));
        if (slot != nullptr && slot->exec->version != 0)
            for (std::size_t at = 0; at < slot->exec->count; ++at)
                if (slot->exec->nodes[at].key == key)
                    parent = static_cast<std::uint32_t>(at + 1);
    }
    if (parent != 0 && numbers != nullptr) {
        Replacing replacing{Change(*slot), numbers, parent};
        std::uint64_t untold = 0;
        read_graph(child, {&Replacing::take, &replacing}, untold);
        const record::Guard guard(mutex);
        slot = find(exec_of(call));
        finish(*slot, replacing.change);
        call.version = slot->exec->version;
    }
    if (numbers != nullptr)
        record::unmap_pages(numbers, (max_graph_nodes + 1) * sizeof(std::uint32_t));
}

void forget_graph(trace::Graph& call) noexcept {
    const record::Quiet quiet;
    const record::Guard guard(mutex);
    Slot* const slot = find(exec_of(call));
    if (slot == nullptr)
        return;
    Exec& exec = *slot->exec;
    for (std::size_t i = 0; i < exec.count; ++i) {
        const Node& node = exec.nodes[i];
        Allocation known;
        if (node.kind != GraphNodeKind::alloc || !allocations().find(node.address, known) ||
            known.id != node.allocation || !allocations().erase(node.address, known))
            continue;
        trace::Free record;
        record.entry = call.entry;
        record.start = call.start;
        record.stack = call.stack;
        record.allocation = node.allocation;
        record.address = node.address;
        record.part = 1;
        record::write(record);
    }
    call.version = exec.version;
    release(exec);
    exec.version = 0;
    slot->word.store(0, std::memory_order_release);
}

void revive_graph_memory(CUgraphExec handle, const trace::GraphLaunch& call) noexcept {
    const record::Quiet quiet;
    const record::Guard guard(mutex);
    Slot* const slot = find(handle);
    for (std::size_t i = 0; slot != nullptr && i < slot->exec->count; ++i) {
        const Node& node = slot->exec->nodes[i];
        Allocation known;
        if (node.kind != GraphNodeKind::alloc || allocations().find(node.address, known))
            continue;
        known = {};
        known.id = node.allocation;
        known.address = node.address;
        known.bytes = node.bytes;
        known.memory = trace::Memory::device;
        allocations().insert(known);
        trace::Alloc record;
        record.entry = call.entry;
        record.start = call.start;
        record.stack = call.stack;
        record.allocation = node.allocation;
        record.address = node.address;
        record.bytes = node.bytes;
        record.memory = trace::Memory::device;
        record.part = 1;
        record::write(record);
    }
}

void managed_of_graph(CUgraphExec handle, Touched& out) noexcept {
    const record::Guard guard(mutex);
    Slot* const slot = find(handle);
    if (slot == nullptr)
        return;
    const Exec& exec = *slot->exec;
    out.scanned = exec.scanned;
    for (std::uint32_t i = 0; i < exec.managed_count; ++i) {
        Allocation now;
        if (allocations().find(exec.managed[i].address, now) && now.id == exec.managed[i].id) {
            out.ids.add(now.id);
            out.managed[out.managed_count++] = now;
        }
    }
}

} // namespace umadvisor::observe
