// Entry points that came after CUDA 13.0, asked for and called as a program for them does.
#include "driver_program.hpp"
#include "tools/simcuda/control.hpp"

#include <vector>

namespace {

constexpr int version = 13040;
constexpr std::size_t bytes = 3 << 20;

using CopyWithAttributes = CUresult (*)(CUdeviceptr, CUdeviceptr, std::size_t, CUmemcpyAttributes*, CUstream);
using CopyRowsWithAttributes = CUresult (*)(CUDA_MEMCPY3D_BATCH_OP*, unsigned long long, CUstream);
using LaunchHostFunction = CUresult (*)(CUstream, CUhostFn, void*, unsigned);
using AddNode = CUresult (*)(CUgraphNode*, CUgraph, const CUgraphNode*, const CUgraphEdgeData*, std::size_t,
                             CUgraphNodeParams*);

/// By both ways that programs have: cuGetProcAddress and dlsym.
template <class Function>
Function asked_either_way(const char* base, const char* symbol) {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    if (dlsym(library, symbol) != reinterpret_cast<void*>(ask<Function>(base, version)))
        std::printf("%s is two functions\n", symbol);
    return ask<Function>(base, version);
}

CUmemcpy3DOperand rows_at(CUdeviceptr address, std::size_t row) {
    CUmemcpy3DOperand operand{};
    operand.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    operand.op.ptr.ptr = address;
    operand.op.ptr.rowLength = row;
    return operand;
}

/// The thread's own stream, as programs call it that are compiled with --default-stream per-thread.
template <class Function>
Function ask_per_thread(const char* base) {
    return ask<Function>(base, version, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
}

/// A graph of one copy, launched twice.
void copy_in_graph(AddNode add_node, CUdeviceptr device, const std::vector<char>& source, CUstream stream) {
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    CUgraphExec executable = nullptr;
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    CUDA_MEMCPY3D& copy = parameters.memcpy.copyParams;
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = source.data();
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = device;
    copy.WidthInBytes = 5000;
    copy.Height = copy.Depth = 1;
    must(ASK("cuCtxGetCurrent", cuCtxGetCurrent)(&parameters.memcpy.copyCtx), "context");
    must(ASK("cuGraphCreate", cuGraphCreate)(&graph, 0), "graph");
    must(add_node(&node, graph, nullptr, nullptr, 0, &parameters), "copy node");
    must(ASK("cuGraphInstantiateWithFlags", cuGraphInstantiateWithFlags)(&executable, graph, 0),
         "executable graph");
    for (int i = 0; i < 2; ++i)
        must(ASK("cuGraphLaunch", cuGraphLaunch)(executable, stream), "graph launch");
}

} // namespace

int main() {
    make_context();
    CUdeviceptr device = 0;
    must(ASK("cuMemAlloc", cuMemAlloc_v2)(&device, bytes), "alloc");
    std::vector<char> there(bytes, 7), back(bytes);
    const auto heap = [](std::vector<char>& memory) { return reinterpret_cast<CUdeviceptr>(memory.data()); };
    CUstream stream = nullptr;
    must(ASK("cuStreamCreate", cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "stream");

    const auto copy =
        asked_either_way<CopyWithAttributes>("cuMemcpyWithAttributesAsync", "cuMemcpyWithAttributesAsync");
    CUmemcpyAttributes attributes{};
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    must(copy(device, heap(there), bytes, &attributes, stream), "copy");
    must(copy(heap(back), device, bytes / 2, &attributes, stream), "copy back");
    std::printf("without attributes: %d\n",
                static_cast<int>(copy(device, heap(there), bytes, nullptr, stream)));
    must(ask_per_thread<CopyWithAttributes>("cuMemcpyWithAttributesAsync")(device, heap(there), 1000,
                                                                           &attributes, nullptr),
         "copy in the thread's own stream");

    const auto copy_rows = asked_either_way<CopyRowsWithAttributes>("cuMemcpy3DWithAttributesAsync",
                                                                    "cuMemcpy3DWithAttributesAsync");
    CUDA_MEMCPY3D_BATCH_OP operation{};
    operation.src = rows_at(heap(there), 4096);
    operation.dst = rows_at(device, 8192);
    operation.extent = {1024, 16, 1};
    operation.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    must(copy_rows(&operation, 0, stream), "rows");
    operation.extent = {1024, 3, 1};
    must(ask_per_thread<CopyRowsWithAttributes>("cuMemcpy3DWithAttributesAsync")(&operation, 0, nullptr),
         "rows in the thread's own stream");
    std::printf("no rows: %d\n", static_cast<int>(copy_rows(nullptr, 0, stream)));

    int calls = 0;
    const CUhostFn count = [](void* data) { ++*static_cast<int*>(data); };
    const auto host = asked_either_way<LaunchHostFunction>("cuLaunchHostFunc", "cuLaunchHostFunc_v2");
    must(host(stream, count, &calls, 0), "host function");
    must(ask_per_thread<LaunchHostFunction>("cuLaunchHostFunc")(nullptr, count, &calls, 0),
         "host function in the thread's own stream");

    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_EMPTY;
    must(ASK("cuGraphCreate", cuGraphCreate)(&graph, 0), "graph");
    const auto add_node = asked_either_way<AddNode>("cuGraphAddNode", "cuGraphAddNode_v3");
    must(add_node(&node, graph, nullptr, nullptr, 0, &parameters), "node");
    copy_in_graph(add_node, device, there, stream);

    const auto recapture = asked_either_way<CUresult (*)(CUstream, CUstreamCaptureMode, CUgraph, void*, void*)>(
        "cuStreamBeginRecaptureToGraph", "cuStreamBeginRecaptureToGraph");
    std::printf("recapture: %d\n",
                static_cast<int>(recapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL, graph, nullptr, nullptr)));

    // Its signature was not read anywhere: it passes through, and is counted.
    const auto location =
        reinterpret_cast<int (*)()>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemGetLocationInfo"));
    std::printf("location: %d %d\n", location(), location());
    must(ASK("cuStreamSynchronize", cuStreamSynchronize)(stream), "wait");
    must(ASK("cuStreamSynchronize", cuStreamSynchronize)(CU_STREAM_PER_THREAD),
         "wait for the thread's own stream");

    std::printf("host function ran %d times, %d came back\n", calls, back[bytes / 2 - 1]);
    return 0;
}
