#include "interposer/wrappers/graph.hpp"

#include "interposer/observe/capture.hpp"
#include "interposer/observe/graph_memory.hpp"
#include "interposer/observe/managed_watch.hpp"
#include "interposer/observe/residency_sampler.hpp"

#include <atomic>

namespace umadvisor::wrappers {

namespace {

constinit std::atomic<bool> device_launch_noted{false};

void name_exec(trace::Graph& record, CUgraphExec exec) {
    record.exec = number(exec);
    record.stack = record::stack();
}

/// Records a change of an executable graph.
template <class Change>
void changed(trace::Graph& record, CUgraphExec exec, Change change) {
    const KeepErrno keep;
    record.action = trace::GraphAction::update;
    name_exec(record, exec);
    if (record.status == CUDA_SUCCESS)
        change();
    record::write(record);
}

} // namespace

void finish_instantiate(trace::Graph& record, CUgraphExec exec, CUgraph graph, std::uint64_t flags) noexcept {
    const KeepErrno keep;
    record.action = trace::GraphAction::instantiate;
    record.graph = number(graph);
    record.stack = record::stack();
    if (record.status == CUDA_SUCCESS) {
        record.exec = number(exec);
        observe::enter_graph(record);
        if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0 && !device_launch_noted.exchange(true))
            record::note("a graph was created for launches from the device: such launches are not seen");
    }
    record::write(record);
}

void finish_graph_update(trace::Graph& record, CUgraphExec exec, CUgraph graph) noexcept {
    record.graph = number(graph);
    changed(record, exec, [&] { observe::update_graph(record); });
}

void finish_node_update(trace::Graph& record, CUgraphExec exec, CUgraphNode node,
                        observe::DescribeNode describe, const void* given) noexcept {
    changed(record, exec, [&] {
        if (describe != nullptr && given != nullptr)
            observe::update_node(record, node, describe, given);
    });
}

void finish_child_update(trace::Graph& record, CUgraphExec exec, CUgraphNode node, CUgraph child) noexcept {
    record.graph = number(child);
    changed(record, exec, [&] { observe::update_child(record, node, child); });
}

void finish_node_enabled(trace::Graph& record, CUgraphExec exec, CUgraphNode node, bool enabled) noexcept {
    changed(record, exec, [&] { observe::enable_node(record, node, enabled); });
}

void begin_graph_destroy(trace::Graph& record, CUgraphExec exec) noexcept {
    const KeepErrno keep;
    record.action = trace::GraphAction::destroy;
    record.start = record::now();
    name_exec(record, exec);
    observe::forget_graph(record);
}

void finish_graph(trace::Graph& record) noexcept {
    const KeepErrno keep;
    record::write(record);
}

void begin_graph_launch(NewGraphLaunch& made, Entry entry, CUgraphExec exec, trace::StreamId stream) noexcept {
    const KeepErrno keep;
    trace::GraphLaunch& record = made.record;
    const observe::GraphVersion version = observe::graph_version(exec);
    made.stream = reinterpret_cast<CUstream>(stream);
    record.version = version.number;
    record.stream = stream;
    made.stack = record.stack = record::stack();
    record.captured = observe::is_captured(made.stream);
    if (version.managed && record.captured == 0) {
        observe::managed_of_graph(exec, made.touched);
        observe::managed_watch().look();
        observe::residency_sampler().before_launch(made.touched);
        act::notify<&act::Action::before_launch>(made);
    }
    if (version.allocates && record.captured == 0) {
        record.entry = attach::index(entry);
        record.start = record::now();
        observe::revive_graph_memory(exec, record);
    }
    made.sample = observe::device_timer().begin(made.stream, version.alike | 1);
    record.sample = made.sample.number;
}

void finish_graph_launch(NewGraphLaunch& made) noexcept {
    const KeepErrno keep;
    made.launched = made.record.status == CUDA_SUCCESS;
    act::notify<&act::Action::after_launch>(made);
    observe::device_timer().end(made.sample, made.stream);
    record::write(made.record);
}

observe::CaptureOrigin begin_capturing(const trace::Graph& record) noexcept {
    const KeepErrno keep;
    return observe::capture_origin(reinterpret_cast<CUstream>(record.stream));
}

void finish_begin_capture(trace::Graph& record, const observe::CaptureOrigin& origin) noexcept {
    const KeepErrno keep;
    record.action = trace::GraphAction::begin_capture;
    record.stack = record::stack();
    if (record.status == CUDA_SUCCESS)
        observe::begin_capture(origin);
    record::write(record);
}

void finish_end_capture(trace::Graph& record, CUgraph* graph, std::uint64_t begun) noexcept {
    const KeepErrno keep;
    record.action = trace::GraphAction::end_capture;
    record.stack = record::stack();
    observe::end_capture(reinterpret_cast<CUstream>(record.stream), begun,
                         static_cast<CUresult>(record.status));
    if (record.status == CUDA_SUCCESS && graph != nullptr)
        record.graph = number(*graph);
    record::write(record);
}

void note_conditional(const CUgraphNode* node, const CUgraphNodeParams* given) noexcept {
    if (node != nullptr && given != nullptr && given->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        observe::note_conditional(*node, given->conditional.phGraph_out, given->conditional.size);
}

void describe_kernel_v1(observe::GraphNodeRead& node, const void* given) {
    const auto& old = *static_cast<const CUDA_KERNEL_NODE_PARAMS_v1*>(given);
    const CUDA_KERNEL_NODE_PARAMS_v2 kernel{old.func,         old.gridDimX,  old.gridDimY,  old.gridDimZ,
                                            old.blockDimX,    old.blockDimY, old.blockDimZ, old.sharedMemBytes,
                                            old.kernelParams, old.extra,     nullptr,       nullptr};
    describe_kernel_v2(node, &kernel);
}

void describe_kernel_v2(observe::GraphNodeRead& node, const void* given) {
    node.record.kind = trace::GraphNodeKind::kernel;
    observe::describe_kernel(node.record, *static_cast<const CUDA_KERNEL_NODE_PARAMS_v2*>(given), node.touched);
}

void describe_copy(observe::GraphNodeRead& node, const void* given) {
    node.record.kind = trace::GraphNodeKind::copy;
    observe::describe_copy(node.record, *static_cast<const CUDA_MEMCPY3D*>(given));
}

void describe_set(observe::GraphNodeRead& node, const void* given) {
    node.record.kind = trace::GraphNodeKind::set;
    observe::describe_set(node.record, *static_cast<const CUDA_MEMSET_NODE_PARAMS*>(given));
}

void describe_host(observe::GraphNodeRead& node, const void* given) {
    node.record.kind = trace::GraphNodeKind::host_function;
    node.record.value = number(static_cast<const CUDA_HOST_NODE_PARAMS*>(given)->fn);
}

void describe_event_record(observe::GraphNodeRead& node, const void* given) {
    node.record.kind = trace::GraphNodeKind::event_record;
    node.record.value = number(given);
}

void describe_event_wait(observe::GraphNodeRead& node, const void* given) {
    node.record.kind = trace::GraphNodeKind::event_wait;
    node.record.value = number(given);
}

observe::DescribeNode describe_any(const CUgraphNodeParams& given, const void*& of) noexcept {
    switch (given.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        of = &given.kernel; // laid out as CUDA_KERNEL_NODE_PARAMS_v2
        return &describe_kernel_v2;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        of = &given.memcpy.copyParams;
        return &describe_copy;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        of = &given.memset; // begins as CUDA_MEMSET_NODE_PARAMS
        return &describe_set;
    case CU_GRAPH_NODE_TYPE_HOST:
        of = &given.host;
        return &describe_host;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        of = given.eventRecord.event;
        return &describe_event_record;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        of = given.eventWait.event;
        return &describe_event_wait;
    default:
        return nullptr;
    }
}

} // namespace umadvisor::wrappers
