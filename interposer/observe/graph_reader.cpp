#include "interposer/observe/graph_reader.hpp"

#include "interposer/attach/real.hpp"
#include "interposer/base/pages.hpp"
#include "interposer/observe/functions.hpp"
#include "interposer/observe/memory_class.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/off_stack.hpp"

#include <algorithm>

namespace umadvisor::observe {

namespace {

using attach::available;
using attach::Entry;
using attach::real;
using trace::GraphNodeKind;

struct Conditional {
    CUgraphNode node;
    const CUgraph* bodies;
    std::size_t count;
};
constexpr std::size_t max_conditionals = 1024;
record::Mutex mutex{record::Lock::tables};
constinit Conditional conditionals[max_conditionals] = {}; ///< the newest
constinit std::size_t noted = 0;

Conditional find_conditional(CUgraphNode node) {
    const record::Guard guard(mutex);
    for (std::size_t i = 0; i < std::min(noted, max_conditionals); ++i)
        if (conditionals[i].node == node)
            return conditionals[i];
    return {};
}

GraphNodeKind kind_of(CUgraphNode node) {
    CUgraphNodeType type{};
    if (real<Entry::cuGraphNodeGetType>()(node, &type) != CUDA_SUCCESS)
        return GraphNodeKind::other;
    switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return GraphNodeKind::kernel;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return GraphNodeKind::copy;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return GraphNodeKind::set;
    case CU_GRAPH_NODE_TYPE_HOST:
        return GraphNodeKind::host_function;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return GraphNodeKind::child;
    case CU_GRAPH_NODE_TYPE_EMPTY:
        return GraphNodeKind::empty;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return GraphNodeKind::event_wait;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return GraphNodeKind::event_record;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        return GraphNodeKind::alloc;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return GraphNodeKind::free;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return GraphNodeKind::conditional;
    default:
        return GraphNodeKind::other;
    }
}

bool get_kernel(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2& out) {
    if (available(Entry::cuGraphKernelNodeGetParams_v2))
        return real<Entry::cuGraphKernelNodeGetParams_v2>()(node, &out) == CUDA_SUCCESS;
    CUDA_KERNEL_NODE_PARAMS_v1 old{};
    if (real<Entry::cuGraphKernelNodeGetParams>()(node, &old) != CUDA_SUCCESS)
        return false;
    out = {old.func,      old.gridDimX,       old.gridDimY,     old.gridDimZ, old.blockDimX, old.blockDimY,
           old.blockDimZ, old.sharedMemBytes, old.kernelParams, old.extra,    nullptr,       nullptr};
    return true;
}

/// Fills in what the node does.
void describe(CUgraphNode node, trace::GraphNode& record, Touched& touched) {
    switch (record.kind) {
    case GraphNodeKind::kernel: {
        CUDA_KERNEL_NODE_PARAMS_v2 kernel{};
        if (get_kernel(node, kernel))
            describe_kernel(record, kernel, touched);
        break;
    }
    case GraphNodeKind::copy: {
        CUDA_MEMCPY3D copy{};
        if (real<Entry::cuGraphMemcpyNodeGetParams>()(node, &copy) == CUDA_SUCCESS)
            describe_copy(record, copy);
        break;
    }
    case GraphNodeKind::set: {
        CUDA_MEMSET_NODE_PARAMS set{};
        if (real<Entry::cuGraphMemsetNodeGetParams>()(node, &set) == CUDA_SUCCESS)
            describe_set(record, set);
        break;
    }
    case GraphNodeKind::alloc: {
        CUDA_MEM_ALLOC_NODE_PARAMS alloc{};
        if (real<Entry::cuGraphMemAllocNodeGetParams>()(node, &alloc) == CUDA_SUCCESS) {
            record.destination = alloc.dptr;
            record.bytes = alloc.bytesize;
            record.destination_memory = trace::Memory::device;
        }
        break;
    }
    case GraphNodeKind::free: {
        CUdeviceptr address = 0;
        if (real<Entry::cuGraphMemFreeNodeGetParams>()(node, &address) == CUDA_SUCCESS)
            record.destination = address;
        break;
    }
    case GraphNodeKind::host_function: {
        CUDA_HOST_NODE_PARAMS host{};
        if (real<Entry::cuGraphHostNodeGetParams>()(node, &host) == CUDA_SUCCESS)
            record.value = reinterpret_cast<std::uint64_t>(host.fn);
        break;
    }
    case GraphNodeKind::event_record:
    case GraphNodeKind::event_wait: {
        CUevent event = nullptr;
        if ((record.kind == GraphNodeKind::event_record
                 ? real<Entry::cuGraphEventRecordNodeGetEvent>()(node, &event)
                 : real<Entry::cuGraphEventWaitNodeGetEvent>()(node, &event)) == CUDA_SUCCESS)
            record.value = reinterpret_cast<std::uint64_t>(event);
        break;
    }
    default:
        break;
    }
}

/// A node of the graph and its number, sorted by handle, since dependencies are recorded by number.
struct Numbered {
    CUgraphNode handle;
    std::uint64_t number;
};

void add_dependencies(CUgraphNode node, Numbered* first, Numbered* last, trace::GraphNode& record) {
    struct Before {
        CUgraphNode nodes[trace::max_dependencies];
        CUgraphEdgeData edges[trace::max_dependencies];
    };
    const record::OffStack<Before> memory;
    auto& [before, edges] = *memory;
    const auto ask = [&](CUgraphNode* nodes, CUgraphEdgeData* data, std::size_t& count) {
        return (available(Entry::cuGraphNodeGetDependencies_v2)
                    ? real<Entry::cuGraphNodeGetDependencies_v2>()(node, nodes, data, &count)
                    : real<Entry::cuGraphNodeGetDependencies>()(node, nodes, &count)) == CUDA_SUCCESS;
    };
    // Without an array for edge data the newer entry point refuses graphs whose edges have any
    // (CUDA_ERROR_LOSSY_QUERY).
    std::size_t listed = std::size(before);
    if (!ask(before, edges, listed))
        return;
    std::size_t count = listed;
    if (listed == std::size(before) && !ask(nullptr, nullptr, count)) // there may be more
        return;
    record.untold_dependencies = count - std::min(count, listed);
    for (std::size_t i = 0; i < std::min(listed, std::size(before)); ++i) {
        const Numbered* const found = std::lower_bound(
            first, last, before[i], [](const Numbered& a, CUgraphNode b) { return a.handle < b; });
        if (found != last && found->handle == before[i])
            record.dependencies.add(found->number);
    }
}

/// A node whose inner graphs are still to be read.
struct Holder {
    CUgraphNode handle;
    std::uint64_t number;
    bool conditional;
};

/// Memory for the graph that is read, and for the nodes whose inner graphs are still to be read.
struct Room {
    CUgraphNode handles[max_graph_nodes];
    Numbered numbered[max_graph_nodes];
    Holder holders[max_graph_nodes];
};
constinit base::KeptPages kept_room{nullptr};

class Reader {
public:
    Reader(const GraphNodeSink& sink, std::uint64_t& omitted) noexcept : sink_(sink), omitted_(omitted) {}

    bool read(CUgraph graph) noexcept {
        if (!room_ || !read_level(graph, 0))
            return false;
        for (std::size_t i = 0; i < waiting_; ++i) {
            const Holder holder = room_->holders[i];
            CUgraph inner = nullptr;
            if (holder.conditional) {
                const Conditional conditional = find_conditional(holder.handle);
                for (std::size_t body = 0; body < conditional.count; ++body)
                    read_level(conditional.bodies[body], holder.number);
            } else if (real<Entry::cuGraphChildGraphNodeGetGraph>()(holder.handle, &inner) == CUDA_SUCCESS) {
                read_level(inner, holder.number);
            }
        }
        return true;
    }

private:
    bool read_level(CUgraph graph, std::uint64_t parent) noexcept {
        std::size_t all = 0;
        if (real<Entry::cuGraphGetNodes>()(graph, nullptr, &all) != CUDA_SUCCESS)
            return false;
        std::size_t count = std::min<std::size_t>(all, max_graph_nodes - last_);
        omitted_ += all - count;
        if (count == 0)
            return true;
        CUgraphNode* const handles = room_->handles;
        Numbered* const numbered = room_->numbered;
        if (real<Entry::cuGraphGetNodes>()(graph, handles, &count) != CUDA_SUCCESS)
            return false;
        for (std::size_t i = 0; i < count; ++i)
            numbered[i] = {handles[i], last_ + i + 1};
        std::sort(numbered, numbered + count,
                  [](const Numbered& a, const Numbered& b) { return a.handle < b.handle; });
        for (std::size_t i = 0; i < count; ++i) {
            const record::OffStack<GraphNodeRead> read;
            GraphNodeRead& node = *read;
            node.handle = handles[i];
            node.record.node = ++last_;
            node.record.parent = parent;
            node.record.kind = kind_of(node.handle);
            describe(node.handle, node.record, node.touched);
            add_dependencies(node.handle, numbered, numbered + count, node.record);
            if (node.record.kind == GraphNodeKind::child || node.record.kind == GraphNodeKind::conditional)
                room_->holders[waiting_++] = {node.handle, node.record.node,
                                              node.record.kind == GraphNodeKind::conditional};
            sink_.accept(sink_.to, node);
        }
        return true;
    }

    const GraphNodeSink& sink_;
    std::uint64_t& omitted_;
    const base::Scratch<Room> room_{kept_room};
    std::size_t waiting_ = 0;
    std::uint64_t last_ = 0; ///< number of the node read last
};

End end_of(CUmemorytype type, const void* host, CUdeviceptr device, CUarray array, std::uint64_t offset,
           std::uint64_t bytes, std::uint64_t& address) {
    if (type == CU_MEMORYTYPE_ARRAY)
        return classify_array(reinterpret_cast<std::uint64_t>(array));
    address = (type == CU_MEMORYTYPE_HOST ? reinterpret_cast<std::uint64_t>(host) : device) + offset;
    return classify(address, bytes);
}

} // namespace

void describe_kernel(trace::GraphNode& record, const CUDA_KERNEL_NODE_PARAMS_v2& given,
                     Touched& touched) noexcept {
    record.grid_x = given.gridDimX;
    record.grid_y = given.gridDimY;
    record.grid_z = given.gridDimZ;
    record.block_x = given.blockDimX;
    record.block_y = given.blockDimY;
    record.block_z = given.blockDimZ;
    record.shared_bytes = given.sharedMemBytes;
    const Function* const function =
        function_of(given.func != nullptr ? given.func : reinterpret_cast<CUfunction>(given.kern));
    if (function == nullptr)
        return;
    record.function = function->id;
    scan(*function, given.kernelParams, given.extra, touched);
    record.touched = touched.ids;
    record.untold_touched = touched.omitted;
    record.scanned = touched.scanned;
}

void describe_copy(trace::GraphNode& record, const CUDA_MEMCPY3D& given) noexcept {
    const auto offset = [](std::size_t x, std::size_t y, std::size_t z, std::size_t pitch, std::size_t height) {
        return x + (y + z * height) * pitch;
    };
    record.bytes =
        given.WidthInBytes * std::max<std::size_t>(given.Height, 1) * std::max<std::size_t>(given.Depth, 1);
    const End to = end_of(given.dstMemoryType, given.dstHost, given.dstDevice, given.dstArray,
                          offset(given.dstXInBytes, given.dstY, given.dstZ, given.dstPitch, given.dstHeight),
                          given.WidthInBytes, record.destination);
    const End from = end_of(given.srcMemoryType, given.srcHost, given.srcDevice, given.srcArray,
                            offset(given.srcXInBytes, given.srcY, given.srcZ, given.srcPitch, given.srcHeight),
                            given.WidthInBytes, record.source);
    record.destination_memory = to.memory;
    record.destination_allocation = to.allocation;
    record.source_memory = from.memory;
    record.source_allocation = from.allocation;
    record.host_range = from.host_range != 0 ? from.host_range : to.host_range;
}

void describe_set(trace::GraphNode& record, const CUDA_MEMSET_NODE_PARAMS& given) noexcept {
    record.bytes = given.elementSize * given.width * std::max<std::size_t>(given.height, 1);
    record.destination = given.dst;
    record.value = given.value;
    const End end = classify(given.dst, given.width * given.elementSize);
    record.destination_memory = end.memory;
    record.destination_allocation = end.allocation;
}

void note_conditional(CUgraphNode node, const CUgraph* bodies, std::size_t count) noexcept {
    const record::Guard guard(mutex);
    for (std::size_t i = 0; i < std::min(noted, max_conditionals); ++i)
        if (conditionals[i].node == node) {
            conditionals[i] = {node, bodies, count};
            return;
        }
    conditionals[noted++ % max_conditionals] = {node, bodies, count};
}

bool read_graph(CUgraph graph, const GraphNodeSink& sink, std::uint64_t& omitted) noexcept {
    omitted = 0;
    Reader reader(sink, omitted);
    return reader.read(graph);
}

} // namespace umadvisor::observe
