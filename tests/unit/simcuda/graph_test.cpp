// CUDA graphs: built by hand or captured, instantiated, launched, updated (driver API, "Graph Management").
#include "tests/unit/simcuda/driver_library.hpp"

#include "tools/simcuda/image.hpp"

#include <vector>

BOOST_AUTO_TEST_SUITE(simcuda_graph)

using namespace simcuda;

namespace {

std::vector<int> seen; ///< what the kernel was run with, in order

void note_run(void** arguments, const Shape&) {
    seen.push_back(*static_cast<int*>(arguments[0]));
}

constexpr std::size_t note_offset = 0, note_size = sizeof(int);
Image image;
KernelEntry note_entry{"note", 1, &note_offset, &note_size, note_run, nullptr, &image};

} // namespace

struct GraphFixture : DriverFixture {
    GraphFixture() {
        image.kernels = &note_entry;
        CUmodule module = nullptr;
        DO(cuModuleLoadData, &module, &image);
        DO(cuModuleGetFunction, &function, module, "note");
        DO(cuGraphCreate, &graph, 0);
        seen.clear();
    }
    ~GraphFixture() {
        if (exec)
            DRIVER(cuGraphExecDestroy)(exec);
        DRIVER(cuGraphDestroy)(graph);
    }

    CUgraphNode kernel(int value, std::initializer_list<CUgraphNode> after = {}) {
        void* parameters[] = {&value};
        const CUDA_KERNEL_NODE_PARAMS given{function, 1, 1,          1,       1,       1,
                                            1,        0, parameters, nullptr, nullptr, nullptr};
        CUgraphNode node = nullptr;
        DO(cuGraphAddKernelNode_v2, &node, graph, after.begin(), after.size(), &given);
        return node;
    }
    CUgraphNode copy(void* to, std::size_t bytes, std::initializer_list<CUgraphNode> after = {}) {
        CUDA_MEMCPY3D given{.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                            .srcDevice = device,
                            .dstMemoryType = CU_MEMORYTYPE_HOST,
                            .dstHost = to,
                            .WidthInBytes = bytes};
        given.Height = given.Depth = 1;
        CUgraphNode node = nullptr;
        BOOST_REQUIRE_EQUAL(
            DRIVER(cuGraphAddMemcpyNode)(&node, graph, after.begin(), after.size(), &given, context),
            CUDA_SUCCESS);
        return node;
    }
    CUgraphNode set(unsigned value, std::initializer_list<CUgraphNode> after = {}) {
        const CUDA_MEMSET_NODE_PARAMS given{device, 0, value, 1, 4096, 1};
        CUgraphNode node = nullptr;
        BOOST_REQUIRE_EQUAL(
            DRIVER(cuGraphAddMemsetNode)(&node, graph, after.begin(), after.size(), &given, context),
            CUDA_SUCCESS);
        return node;
    }
    void instantiate(unsigned long long flags = 0) { DO(cuGraphInstantiateWithFlags, &exec, graph, flags); }
    CUresult launch() {
        const CUresult answer = DRIVER(cuGraphLaunch)(exec, stream);
        DRIVER(cuStreamSynchronize)(stream);
        return answer;
    }
    void launch_kernel(int value, CUstream on) {
        void* parameters[] = {&value};
        DO(cuLaunchKernel, function, 1, 1, 1, 1, 1, 1, 0, on, parameters, nullptr);
    }
    void begin() { DO(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_GLOBAL); }
    /// The captured graph takes the place of the fixture's.
    CUresult end() {
        DRIVER(cuGraphDestroy)(graph);
        return DRIVER(cuStreamEndCapture)(stream, &graph);
    }
    std::size_t nodes() {
        std::size_t count = 0;
        DO(cuGraphGetNodes, graph, nullptr, &count);
        return count;
    }

    CUfunction function = nullptr;
    const CUstream stream = make_stream();
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    const CUdeviceptr device = allocate(4096);
    unsigned char host[4096] = {};
};

using Values = std::vector<int>;

BOOST_FIXTURE_TEST_SUITE(graphs, GraphFixture)

BOOST_AUTO_TEST_CASE(nodes_run_in_the_order_of_their_dependencies) {
    const CUgraphNode last = kernel(3);
    const CUgraphNode first = kernel(1);
    const CUgraphNode middle = kernel(2, {first});
    DO(cuGraphAddDependencies_v2, graph, &middle, &last, nullptr, 1);
    set(7, {last});
    copy(host, 4096, {last});
    instantiate();
    BOOST_TEST(seen.empty());
    const auto before = control().copies[device_to_host][device_memory][pageable];
    BOOST_TEST(launch() == CUDA_SUCCESS);
    BOOST_TEST(launch() == CUDA_SUCCESS);
    BOOST_TEST(seen == (Values{1, 2, 3, 1, 2, 3}), boost::test_tools::per_element());
    BOOST_TEST(int(host[4095]) == 7);
    const auto after = control().copies[device_to_host][device_memory][pageable];
    BOOST_TEST(after.calls - before.calls == 2u);
    BOOST_TEST(after.bytes - before.bytes == 2u * 4096);
}

BOOST_AUTO_TEST_CASE(a_launch_takes_time_in_its_stream) {
    kernel(1);
    instantiate();
    const auto before = now();
    launch();
    BOOST_TEST(now() > before + 2000);
}

BOOST_AUTO_TEST_CASE(circles_are_no_graphs) {
    const CUgraphNode a = kernel(1), b = kernel(2, {a});
    DO(cuGraphAddDependencies_v2, graph, &b, &a, nullptr, 1);
    BOOST_TEST(DRIVER(cuGraphInstantiateWithFlags)(&exec, graph, 0) == CUDA_ERROR_INVALID_VALUE);
    DO(cuGraphRemoveDependencies_v2, graph, &b, &a, nullptr, 1);
    instantiate();
}

BOOST_AUTO_TEST_CASE(nodes_tell_what_they_are) {
    const CUgraphNode a = kernel(41), b = copy(host, 100, {a}), c = set(9, {a, b});
    std::size_t count = 8;
    CUgraphNode all[8] = {};
    DO(cuGraphGetNodes, graph, all, &count);
    BOOST_TEST(count == 3u);
    BOOST_TEST((all[0] == a && all[1] == b && all[2] == c && all[3] == nullptr));
    count = 8;
    DO(cuGraphGetRootNodes, graph, all, &count);
    BOOST_TEST(count == 1u);
    CUgraphNodeType type{};
    DO(cuGraphNodeGetType, b, &type);
    BOOST_TEST(type == CU_GRAPH_NODE_TYPE_MEMCPY);
    CUDA_KERNEL_NODE_PARAMS_v2 told{};
    DO(cuGraphKernelNodeGetParams_v2, a, &told);
    BOOST_TEST(told.func == function);
    BOOST_TEST(*static_cast<int*>(told.kernelParams[0]) == 41);
    CUDA_KERNEL_NODE_PARAMS_v1 old{};
    DO(cuGraphKernelNodeGetParams, a, &old);
    BOOST_TEST(old.func == function);
    CUDA_MEMCPY3D copied{};
    DO(cuGraphMemcpyNodeGetParams, b, &copied);
    BOOST_TEST(copied.WidthInBytes == 100u);
    BOOST_TEST(DRIVER(cuGraphMemcpyNodeGetParams)(a, &copied) == CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMSET_NODE_PARAMS filled{};
    DO(cuGraphMemsetNodeGetParams, c, &filled);
    BOOST_TEST(filled.value == 9u);
    CUgraphNode from[4] = {}, to[4] = {};
    count = 4;
    DO(cuGraphGetEdges_v2, graph, from, to, nullptr, &count);
    BOOST_TEST(count == 3u);
    BOOST_TEST((from[0] == a && to[0] == b));
    CUgraphNode before[4] = {};
    count = 4;
    DO(cuGraphNodeGetDependencies, c, before, &count);
    BOOST_TEST(count == 2u);
    BOOST_TEST((before[0] == a && before[1] == b));
}

BOOST_AUTO_TEST_CASE(an_executable_graph_is_a_copy_until_it_is_updated) {
    const CUgraphNode node = kernel(1);
    instantiate();
    int value = 2;
    void* parameters[] = {&value};
    const CUDA_KERNEL_NODE_PARAMS_v2 given{function, 1, 1,          1,       1,       1,
                                           1,        0, parameters, nullptr, nullptr, nullptr};
    DO(cuGraphKernelNodeSetParams_v2, node, &given);
    launch();
    CUgraphExecUpdateResultInfo info{};
    DO(cuGraphExecUpdate_v2, exec, graph, &info);
    BOOST_TEST(info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
    launch();
    value = 3;
    DO(cuGraphExecKernelNodeSetParams_v2, exec, node, &given);
    launch();
    DO(cuGraphNodeSetEnabled, exec, node, 0);
    launch();
    BOOST_TEST(seen == (Values{1, 2, 3}), boost::test_tools::per_element());
    kernel(4);
    BOOST_TEST(DRIVER(cuGraphExecUpdate_v2)(exec, graph, &info) == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    BOOST_TEST(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
}

BOOST_AUTO_TEST_CASE(child_graphs_are_copies_that_can_be_set_anew) {
    kernel(1);
    CUgraph outer = nullptr, other = nullptr;
    DRIVER(cuGraphCreate)(&outer, 0);
    CUgraphNode child = nullptr;
    DO(cuGraphAddChildGraphNode, &child, outer, nullptr, 0, graph);
    kernel(5); // not part of the copy
    CUgraph inner = nullptr;
    DO(cuGraphChildGraphNodeGetGraph, child, &inner);
    std::size_t count = 0;
    DRIVER(cuGraphGetNodes)(inner, nullptr, &count);
    BOOST_TEST(count == 1u);
    DO(cuGraphInstantiateWithFlags, &exec, outer, 0);
    launch();
    std::swap(graph, other);
    DRIVER(cuGraphCreate)(&graph, 0);
    kernel(2);
    DO(cuGraphExecChildGraphNodeSetParams, exec, child, graph);
    launch();
    BOOST_TEST(seen == (Values{1, 2}), boost::test_tools::per_element());
    DRIVER(cuGraphDestroy)(other);
    DRIVER(cuGraphDestroy)(outer);
}

BOOST_AUTO_TEST_CASE(clones_find_their_nodes) {
    const CUgraphNode a = kernel(1), b = kernel(2, {a});
    CUgraph clone = nullptr;
    CUgraphNode found = nullptr;
    DO(cuGraphClone, &clone, graph);
    DO(cuGraphNodeFindInClone, &found, b, clone);
    BOOST_TEST(found != b);
    std::size_t count = 1;
    CUgraphNode before = nullptr;
    DO(cuGraphNodeGetDependencies, found, &before, &count);
    BOOST_TEST(count == 1u);
    BOOST_TEST(before != a);
    DO(cuGraphDestroy, clone);
}

BOOST_AUTO_TEST_CASE(memory_of_allocation_nodes) {
    CUDA_MEM_ALLOC_NODE_PARAMS given{.bytesize = 4096};
    CUgraphNode made = nullptr, freed = nullptr;
    DO(cuGraphAddMemAllocNode, &made, graph, nullptr, 0, &given);
    BOOST_TEST(given.dptr != 0u);
    instantiate();
    BOOST_TEST(launch() == CUDA_SUCCESS);
    BOOST_TEST(launch() == CUDA_ERROR_INVALID_VALUE); // still allocated
    DO(cuMemFreeAsync, given.dptr, stream);
    BOOST_TEST(DRIVER(cuMemFreeAsync)(given.dptr, stream) == CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(launch() == CUDA_SUCCESS);
    CUgraphExec second = nullptr;
    BOOST_TEST(DRIVER(cuGraphInstantiateWithFlags)(&second, graph, 0) == CUDA_ERROR_INVALID_VALUE);
    DO(cuGraphExecDestroy, exec);
    exec = nullptr;
    DO(cuGraphAddMemFreeNode, &freed, graph, &made, 1, given.dptr);
    DO(cuMemFreeAsync, given.dptr, stream);
    instantiate();
    BOOST_TEST(launch() == CUDA_SUCCESS);
    BOOST_TEST(launch() == CUDA_SUCCESS); // it frees what it allocates
}

BOOST_AUTO_TEST_CASE(conditional_bodies_follow_their_condition) {
    for (const unsigned value : {0u, 1u}) {
        CUgraphConditionalHandle handle{};
        DO(cuGraphConditionalHandleCreate, &handle, graph, context, value, CU_GRAPH_COND_ASSIGN_DEFAULT);
        CUgraphNodeParams given{.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
        given.conditional.handle = handle;
        given.conditional.type = CU_GRAPH_COND_TYPE_IF;
        given.conditional.size = 1;
        CUgraphNode node = nullptr;
        DO(cuGraphAddNode_v2, &node, graph, nullptr, nullptr, 0, &given);
        BOOST_REQUIRE(given.conditional.phGraph_out);
        std::swap(graph, given.conditional.phGraph_out[0]);
        kernel(static_cast<int>(10 + value));
        std::swap(graph, given.conditional.phGraph_out[0]);
    }
    instantiate();
    launch();
    BOOST_TEST(seen == (Values{11}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(host_functions_and_events) {
    int ran = 0;
    const CUDA_HOST_NODE_PARAMS given{[](void* to) { ++*static_cast<int*>(to); }, &ran};
    const CUevent event = make_event();
    CUgraphNode a = nullptr, b = nullptr, c = nullptr;
    DO(cuGraphAddHostNode, &a, graph, nullptr, 0, &given);
    DO(cuGraphAddEventRecordNode, &b, graph, &a, 1, event);
    DO(cuGraphAddEmptyNode, &c, graph, &b, 1);
    instantiate();
    launch();
    BOOST_TEST(ran == 1);
    DO(cuEventSynchronize, event);
}

BOOST_AUTO_TEST_CASE(what_a_stream_captures_runs_at_each_launch) {
    begin();
    launch_kernel(1, stream);
    DO(cuMemsetD8Async, device, 5, 4096, stream);
    DO(cuMemcpyDtoHAsync_v2, host, device, 4096, stream);
    CUdeviceptr made = 0;
    DO(cuMemAllocAsync, &made, 512, stream);
    DO(cuMemFreeAsync, made, stream);
    BOOST_TEST(end() == CUDA_SUCCESS);
    BOOST_TEST(seen.empty());
    BOOST_TEST(nodes() == 5u);
    instantiate();
    launch();
    launch();
    BOOST_TEST(seen == (Values{1, 1}), boost::test_tools::per_element());
    BOOST_TEST(int(host[0]) == 5);
}

BOOST_AUTO_TEST_CASE(a_capture_forks_and_joins) {
    const CUstream side = make_stream();
    const CUevent fork = make_event(), join = make_event();
    begin();
    launch_kernel(1, stream);
    DRIVER(cuEventRecord)(fork, stream);
    DO(cuStreamWaitEvent, side, fork, 0);
    launch_kernel(2, side);
    launch_kernel(3, stream);
    DRIVER(cuEventRecord)(join, side);
    DO(cuStreamWaitEvent, stream, join, 0);
    launch_kernel(4, stream);
    BOOST_TEST(end() == CUDA_SUCCESS);
    std::size_t count = 0;
    DRIVER(cuGraphGetEdges)(graph, nullptr, nullptr, &count);
    BOOST_TEST(count == 4u); // 1-2, 1-3, 2-4, 3-4
    instantiate();
    launch();
    BOOST_TEST(seen.size() == 4u);
    CUstreamCaptureStatus status{};
    DRIVER(cuStreamIsCapturing)(side, &status);
    BOOST_TEST(status == CU_STREAM_CAPTURE_STATUS_NONE);
}

BOOST_AUTO_TEST_CASE(captures_end_where_they_began_and_whole) {
    const CUstream side = make_stream();
    const CUevent event = make_event(), outside = make_event();
    begin();
    DRIVER(cuEventRecord)(event, stream);
    DRIVER(cuStreamWaitEvent)(side, event, 0);
    launch_kernel(1, side);
    CUgraph none = nullptr;
    BOOST_TEST(DRIVER(cuStreamEndCapture)(side, &none) == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    BOOST_TEST(DRIVER(cuStreamEndCapture)(stream, &none) == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    BOOST_TEST(none == nullptr);
    // Work that is not captured cannot come before what is.
    DRIVER(cuEventRecord)(outside, side);
    begin();
    BOOST_TEST(DRIVER(cuStreamWaitEvent)(stream, outside, 0) == CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    BOOST_TEST(DRIVER(cuStreamEndCapture)(stream, &none) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    // Two captures cannot become one.
    begin();
    DRIVER(cuStreamBeginCapture_v2)(side, CU_STREAM_CAPTURE_MODE_GLOBAL);
    DRIVER(cuEventRecord)(event, side);
    BOOST_TEST(DRIVER(cuStreamWaitEvent)(stream, event, 0) == CUDA_ERROR_STREAM_CAPTURE_MERGE);
    DRIVER(cuStreamEndCapture)(stream, &none);
    DRIVER(cuStreamEndCapture)(side, &none);
}

BOOST_AUTO_TEST_CASE(a_launch_into_a_capture_becomes_a_child) {
    kernel(1);
    instantiate();
    begin();
    DO(cuGraphLaunch, exec, stream);
    CUgraph captured = nullptr;
    DO(cuStreamEndCapture, stream, &captured);
    BOOST_TEST(seen.empty());
    CUgraphExec outer = nullptr;
    DO(cuGraphInstantiateWithFlags, &outer, captured, 0);
    DO(cuGraphLaunch, outer, stream);
    BOOST_TEST(seen == (Values{1}), boost::test_tools::per_element());
    DRIVER(cuGraphExecDestroy)(outer);
    DRIVER(cuGraphDestroy)(captured);
}

BOOST_AUTO_TEST_CASE(a_capture_can_go_into_a_given_graph) {
    const CUgraphNode first = kernel(1);
    DO(cuStreamBeginCaptureToGraph, stream, graph, &first, nullptr, 1, CU_STREAM_CAPTURE_MODE_GLOBAL);
    launch_kernel(2, stream);
    CUgraph told = nullptr, same = nullptr;
    const CUgraphNode* tail = nullptr;
    std::size_t count = 0;
    CUstreamCaptureStatus status{};
    DO(cuStreamGetCaptureInfo_v2, stream, &status, nullptr, &told, &tail, &count);
    BOOST_TEST(told == graph);
    BOOST_TEST(count == 1u);
    DO(cuStreamEndCapture, stream, &same);
    BOOST_TEST(same == graph);
    BOOST_TEST(nodes() == 2u);
    instantiate();
    launch();
    BOOST_TEST(seen == (Values{1, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
