// Graphs made and launched in each way there is. Prints what each call answers and what came out, and at the
// end, as simcuda's own counters have it, nothing: the test compares those with the trace.
#include "driver_program.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t bytes = 256 * 1024;

struct Memory {
    CUdeviceptr device = 0, other = 0, managed = 0;
    char* pinned = nullptr;
    std::vector<char> pageable = std::vector<char>(bytes, 3);
};
Memory memory;
CUfunction function = nullptr;
CUcontext context = nullptr;
CUstream stream = nullptr;

void show(const char* what, CUresult result) {
    std::printf("%s: %d\n", what, static_cast<int>(result));
}

#define CALL(name, symbol, ...) show(#symbol, ASK(name, symbol)(__VA_ARGS__))

float value_at(CUdeviceptr address) {
    float value = 0;
    must(ASK("cuMemcpyDtoH", cuMemcpyDtoH_v2)(&value, address, sizeof value), "read");
    return value;
}

CUDA_KERNEL_NODE_PARAMS_v2 kernel_of(CUdeviceptr* argument) {
    static void* parameters[4][1];
    static int next = 0;
    void** const own = parameters[next++ % 4];
    own[0] = argument;
    return {function, 1, 1, 1, 1, 1, 1, 0, own, nullptr, nullptr, nullptr};
}

CUDA_MEMCPY3D copy_of(CUdeviceptr to, const void* from, std::size_t size) {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = from;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = to;
    copy.WidthInBytes = size;
    copy.Height = copy.Depth = 1;
    return copy;
}

CUgraph new_graph() {
    CUgraph graph = nullptr;
    must(ASK("cuGraphCreate", cuGraphCreate)(&graph, 0), "graph");
    return graph;
}

CUgraphNode add_kernel(CUgraph graph, CUdeviceptr* argument, std::vector<CUgraphNode> after = {}) {
    const CUDA_KERNEL_NODE_PARAMS_v2 given = kernel_of(argument);
    CUgraphNode node = nullptr;
    CALL("cuGraphAddKernelNode", cuGraphAddKernelNode_v2, &node, graph, after.data(), after.size(), &given);
    return node;
}

CUgraphNode add_copy(CUgraph graph, const CUDA_MEMCPY3D& given, std::vector<CUgraphNode> after = {}) {
    CUgraphNode node = nullptr;
    CALL("cuGraphAddMemcpyNode", cuGraphAddMemcpyNode, &node, graph, after.data(), after.size(), &given,
         context);
    return node;
}

CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    CALL("cuGraphInstantiateWithFlags", cuGraphInstantiateWithFlags, &exec, graph, 0);
    return exec;
}

void launch(CUgraphExec exec, int times, CUstream on = stream) {
    for (int i = 0; i < times; ++i)
        CALL("cuGraphLaunch", cuGraphLaunch, exec, on);
    CALL("cuStreamSynchronize", cuStreamSynchronize, on);
}

void destroy(CUgraphExec exec, CUgraph graph) {
    CALL("cuGraphExecDestroy", cuGraphExecDestroy, exec);
    CALL("cuGraphDestroy", cuGraphDestroy, graph);
}

/// Built by hand, and changed in every way while it stays one executable graph.
void explicit_graph() {
    std::puts("explicit");
    const CUgraph graph = new_graph();
    const CUgraphNode up = add_copy(graph, copy_of(memory.device, memory.pageable.data(), bytes));
    const CUgraphNode kernel = add_kernel(graph, &memory.device, {up});
    const CUDA_MEMSET_NODE_PARAMS set{memory.other, 0, 0, 1, bytes, 1};
    CUgraphNode zero = nullptr;
    CALL("cuGraphAddMemsetNode", cuGraphAddMemsetNode, &zero, graph, &kernel, 1, &set, context);
    const CUgraphExec exec = instantiate(graph);
    launch(exec, 3);
    // From pinned memory, and less of it.
    const CUDA_MEMCPY3D pinned = copy_of(memory.device, memory.pinned, bytes / 2);
    CALL("cuGraphExecMemcpyNodeSetParams", cuGraphExecMemcpyNodeSetParams, exec, up, &pinned, context);
    launch(exec, 2);
    CUDA_KERNEL_NODE_PARAMS_v2 other = kernel_of(&memory.other);
    CALL("cuGraphExecKernelNodeSetParams", cuGraphExecKernelNodeSetParams_v2, exec, kernel, &other);
    CUgraphNodeParams any{};
    any.type = CU_GRAPH_NODE_TYPE_MEMSET;
    any.memset = {memory.other, 0, 0, 1, bytes / 4, 1, context};
    CALL("cuGraphExecNodeSetParams", cuGraphExecNodeSetParams, exec, zero, &any);
    launch(exec, 1);
    CALL("cuGraphNodeSetEnabled", cuGraphNodeSetEnabled, exec, up, 0);
    launch(exec, 5);
    CALL("cuGraphNodeSetEnabled", cuGraphNodeSetEnabled, exec, up, 1);
    launch(exec, 1);
    // The graph as it was, once more: by an update of all nodes.
    CUgraphExecUpdateResultInfo info{};
    CALL("cuGraphExecUpdate", cuGraphExecUpdate_v2, exec, graph, &info);
    launch(exec, 2);
    CALL("cuGraphExecUpdate", cuGraphExecUpdate_v2, exec, graph, &info); // changes nothing
    launch(exec, 1);
    std::printf("value %f\n", static_cast<double>(value_at(memory.device)));
    destroy(exec, graph);
}

/// A child graph, changed through its node and as a whole, and bodies that may or may not run.
void inner_graphs() {
    std::puts("inner");
    const CUgraph inner = new_graph(), other = new_graph(), graph = new_graph();
    add_copy(inner, copy_of(memory.device, memory.pinned, 1000), {add_kernel(inner, &memory.device)});
    add_copy(other, copy_of(memory.device, memory.pinned, 3000), {add_kernel(other, &memory.device)});
    CUgraphNode child = nullptr, second = nullptr, condition = nullptr;
    CALL("cuGraphAddChildGraphNode", cuGraphAddChildGraphNode, &child, graph, nullptr, 0, inner);
    CALL("cuGraphAddChildGraphNode", cuGraphAddChildGraphNode, &second, graph, &child, 1, inner);
    CUgraphExec exec = instantiate(graph);
    launch(exec, 2);
    CALL("cuGraphExecChildGraphNodeSetParams", cuGraphExecChildGraphNodeSetParams, exec, second, other);
    launch(exec, 2);
    CALL("cuGraphExecDestroy", cuGraphExecDestroy, exec);
    CUgraphConditionalHandle handle{};
    CALL("cuGraphConditionalHandleCreate", cuGraphConditionalHandleCreate, &handle, graph, context, 1,
         CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraphNodeParams given{};
    given.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    given.conditional = {handle, CU_GRAPH_COND_TYPE_IF, 1, nullptr, context};
    CALL("cuGraphAddNode", cuGraphAddNode_v2, &condition, graph, &second, nullptr, 1, &given);
    add_kernel(given.conditional.phGraph_out[0], &memory.other);
    exec = instantiate(graph);
    launch(exec, 3);
    destroy(exec, graph);
    CALL("cuGraphDestroy", cuGraphDestroy, inner);
    CALL("cuGraphDestroy", cuGraphDestroy, other);
}

void launch_on(CUstream on, CUdeviceptr* argument) {
    void* parameters[] = {argument};
    CALL("cuLaunchKernel", cuLaunchKernel, function, 1, 1, 1, 1, 1, 1, 0, on, parameters, nullptr);
}

/// Captured with a fork and a join, launched, launched into another capture, and the same by the thread's own
/// stream.
void captured_graphs() {
    std::puts("captured");
    CUstream side = nullptr;
    CUevent fork = nullptr, join = nullptr;
    must(ASK("cuStreamCreate", cuStreamCreate)(&side, CU_STREAM_NON_BLOCKING), "stream");
    must(ASK("cuEventCreate", cuEventCreate)(&fork, CU_EVENT_DISABLE_TIMING), "event");
    must(ASK("cuEventCreate", cuEventCreate)(&join, CU_EVENT_DISABLE_TIMING), "event");
    CUdeviceptr from_pool = 0;
    CUgraph graph = nullptr, outer = nullptr;
    CALL("cuStreamBeginCapture", cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    launch_on(stream, &memory.device);
    CALL("cuMemcpyHtoDAsync", cuMemcpyHtoDAsync_v2, memory.device, memory.pageable.data(), bytes, stream);
    CALL("cuEventRecord", cuEventRecord, fork, stream);
    CALL("cuStreamWaitEvent", cuStreamWaitEvent, side, fork, 0);
    launch_on(side, &memory.managed);
    CALL("cuMemcpyDtoDAsync", cuMemcpyDtoDAsync_v2, memory.other, memory.device, bytes, side);
    CALL("cuEventRecord", cuEventRecord, join, side);
    CALL("cuMemsetD8Async", cuMemsetD8Async, memory.device, 0, bytes, stream);
    CALL("cuMemAllocAsync", cuMemAllocAsync, &from_pool, bytes, stream);
    launch_on(stream, &from_pool);
    CALL("cuMemFreeAsync", cuMemFreeAsync, from_pool, stream);
    CALL("cuStreamWaitEvent", cuStreamWaitEvent, stream, join, 0);
    CALL("cuMemcpyDtoHAsync", cuMemcpyDtoHAsync_v2, memory.pinned, memory.other, bytes, stream);
    CALL("cuStreamEndCapture", cuStreamEndCapture, stream, &graph);
    const CUgraphExec exec = instantiate(graph);
    memory.pinned[0] = 0;
    launch(exec, 4);
    std::printf("first %d\n", memory.pinned[0]);

    CUgraph plain = nullptr;
    const auto begin = ask<decltype(&cuStreamBeginCapture_v2)>("cuStreamBeginCapture", 10010,
                                                               CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    const auto end = ask<decltype(&cuStreamEndCapture)>("cuStreamEndCapture", 10000,
                                                        CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    const auto run =
        ask<decltype(&cuGraphLaunch)>("cuGraphLaunch", 10000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    const auto copy = ask<decltype(&cuMemcpyHtoDAsync_v2)>("cuMemcpyHtoDAsync", 7000,
                                                           CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    show("begin", begin(nullptr, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    show("copy", copy(memory.device, memory.pinned, 5000, nullptr));
    show("end", end(nullptr, &plain));
    const CUgraphExec own = instantiate(plain);
    for (int i = 0; i < 2; ++i)
        show("launch", run(own, nullptr));

    CALL("cuStreamBeginCapture", cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    CALL("cuGraphLaunch", cuGraphLaunch, own, stream);
    CALL("cuStreamEndCapture", cuStreamEndCapture, stream, &outer);
    const CUgraphExec nested = instantiate(outer);
    launch(nested, 1);
    destroy(nested, outer);
    destroy(own, plain);
    destroy(exec, graph);

    // A capture that comes to nothing.
    CALL("cuStreamBeginCapture", cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    launch_on(stream, &memory.device);
    CALL("cuStreamSynchronize", cuStreamSynchronize, stream);
    CALL("cuStreamEndCapture", cuStreamEndCapture, stream, &outer);
    launch_on(stream, &memory.device);
    CALL("cuStreamSynchronize", cuStreamSynchronize, stream);
}

/// Memory that a graph allocates and the program frees, launch after launch.
void graph_memory() {
    std::puts("memory");
    const CUgraph graph = new_graph();
    CUDA_MEM_ALLOC_NODE_PARAMS given{};
    given.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    given.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    given.bytesize = bytes;
    CUgraphNode made = nullptr;
    CALL("cuGraphAddMemAllocNode", cuGraphAddMemAllocNode, &made, graph, nullptr, 0, &given);
    add_copy(graph, copy_of(given.dptr, memory.pinned, bytes), {made});
    const CUgraphExec exec = instantiate(graph);
    for (int i = 0; i < 3; ++i) {
        launch(exec, 1);
        CALL("cuMemFreeAsync", cuMemFreeAsync, given.dptr, stream);
    }
    destroy(exec, graph);
}

} // namespace

int main() {
    context = make_context();
    function = load_count_up();
    must(ASK("cuMemAlloc", cuMemAlloc_v2)(&memory.device, bytes), "device");
    must(ASK("cuMemAlloc", cuMemAlloc_v2)(&memory.other, bytes), "device");
    must(ASK("cuMemAllocManaged", cuMemAllocManaged)(&memory.managed, bytes, CU_MEM_ATTACH_GLOBAL), "managed");
    must(ASK("cuMemHostAlloc", cuMemHostAlloc)(reinterpret_cast<void**>(&memory.pinned), bytes, 0), "pinned");
    std::memset(memory.pinned, 0, bytes);
    must(ASK("cuStreamCreate", cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "stream");
    explicit_graph();
    inner_graphs();
    captured_graphs();
    graph_memory();
}
