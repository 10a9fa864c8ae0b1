#include "interposer/observe/graph_memory.hpp"

#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"

namespace umadvisor::observe {

namespace {

/// `call` is the Graph or the GraphLaunch that did it.
template <class Record, class Call>
Record part_of(const Call& call, trace::AllocationId allocation, std::uint64_t address) {
    Record record;
    record.entry = call.entry;
    record.start = call.start;
    record.stack = call.stack;
    record.allocation = allocation;
    record.address = address;
    record.part = 1;
    return record;
}

template <class Call>
void write_made(const Call& call, trace::AllocationId allocation, std::uint64_t address, std::uint64_t bytes) {
    auto record = part_of<trace::Alloc>(call, allocation, address);
    record.bytes = bytes;
    record.memory = trace::Memory::device;
    record::write(record);
}

void insert(trace::AllocationId id, std::uint64_t address, std::uint64_t bytes) {
    Allocation made{};
    made.id = number(id);
    made.address = address;
    made.bytes = bytes;
    made.memory = trace::Memory::device;
    allocations().insert(made);
}

} // namespace

void enter_graph_memory(GraphNodeRead& node, const trace::Graph& call) noexcept {
    trace::GraphNode& record = node.record;
    // What a captured cuMemAllocAsync has entered keeps its id.
    Allocation known;
    if (allocations().find(record.destination, known) && known.address == record.destination) {
        record.destination_allocation = trace::AllocationId{known.id};
    } else {
        record.destination_allocation = trace::AllocationId{allocations().next_id()};
        insert(record.destination_allocation, record.destination, record.bytes);
    }
    write_made(call, record.destination_allocation, record.destination, record.bytes);
}

void name_freed_memory(GraphNodeRead& node) noexcept {
    Allocation known;
    if (allocations().find(node.record.destination, known))
        node.record.destination_allocation = trace::AllocationId{known.id};
}

void free_graph_memory(const ExecGraph& exec, const trace::Graph& call) noexcept {
    for (std::size_t i = 0; i < exec.count; ++i) {
        const KnownNode& node = exec.nodes[i];
        Allocation known;
        if (node.kind == trace::GraphNodeKind::alloc && allocations().find(node.address, known) &&
            trace::AllocationId{known.id} == node.allocation && allocations().erase(node.address, known))
            record::write(part_of<trace::Free>(call, node.allocation, node.address));
    }
}

void revive_graph_memory(CUgraphExec handle, const trace::GraphLaunch& call) noexcept {
    const record::Quiet quiet;
    const record::Guard guard(exec_graphs_lock);
    const ExecGraph* const exec = find_exec_graph(handle);
    for (std::size_t i = 0; exec != nullptr && i < exec->count; ++i) {
        const KnownNode& node = exec->nodes[i];
        Allocation known;
        if (node.kind != trace::GraphNodeKind::alloc || allocations().find(node.address, known))
            continue;
        insert(node.allocation, node.address, node.bytes);
        write_made(call, node.allocation, node.address, node.bytes);
    }
}

void managed_of_graph(CUgraphExec handle, Touched& out) noexcept {
    const record::Guard guard(exec_graphs_lock);
    const ExecGraph* const exec = find_exec_graph(handle);
    if (exec == nullptr)
        return;
    out.scanned = exec->scanned;
    for (std::uint32_t i = 0; i < exec->managed_count; ++i) {
        Allocation now;
        if (allocations().find(exec->managed[i].address, now) && now.id == exec->managed[i].id) {
            out.ids.add(trace::AllocationId{now.id});
            out.managed[out.managed_count++] = now;
        }
    }
}

} // namespace umadvisor::observe
