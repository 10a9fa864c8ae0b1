/// Executable graphs and their launches, and stream capture. Calls that build or query a graph that is not yet
/// executable move nothing: they are only counted.
#pragma once

#include "interposer/act/action.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/device_timer.hpp"
#include "interposer/observe/graphs.hpp"
#include "interposer/wrappers/hook.hpp"

namespace umadvisor::wrappers {

void finish_instantiate(trace::Graph& record, CUgraphExec exec, CUgraph graph, std::uint64_t flags) noexcept;
void finish_graph_update(trace::Graph& record, CUgraphExec exec, CUgraph graph) noexcept;
void finish_node_update(trace::Graph& record, CUgraphExec exec, CUgraphNode node,
                        observe::DescribeNode describe, const void* given) noexcept;
void finish_child_update(trace::Graph& record, CUgraphExec exec, CUgraphNode node, CUgraph child) noexcept;
void finish_node_enabled(trace::Graph& record, CUgraphExec exec, CUgraphNode node, bool enabled) noexcept;
void begin_graph_destroy(trace::Graph& record, CUgraphExec exec) noexcept;
void finish_graph(trace::Graph& record) noexcept;

/// A launch of a graph, from before the driver's call to after it.
struct NewGraphLaunch : act::LaunchScope {
    trace::GraphLaunch record;
    observe::DeviceSample sample;
};
void begin_graph_launch(NewGraphLaunch& made, Entry entry, CUgraphExec exec, trace::StreamId stream) noexcept;
void finish_graph_launch(NewGraphLaunch& made) noexcept;

/// The origin of the capture that is about to begin on the record's stream.
observe::CaptureOrigin begin_capturing(const trace::Graph& record) noexcept;
void finish_begin_capture(trace::Graph& record, const observe::CaptureOrigin& origin) noexcept;
void finish_end_capture(trace::Graph& record, CUgraph* graph, std::uint64_t begun) noexcept;
void note_conditional(const CUgraphNode* node, const CUgraphNodeParams* given) noexcept;

/// Fill in what a changed node does, from the structure that the program gave.
void describe_kernel_v1(observe::GraphNodeRead& node, const void* given);
void describe_kernel_v2(observe::GraphNodeRead& node, const void* given);
void describe_copy(observe::GraphNodeRead& node, const void* given);
void describe_set(observe::GraphNodeRead& node, const void* given);
void describe_host(observe::GraphNodeRead& node, const void* given);
void describe_event_record(observe::GraphNodeRead& node, const void* given);
void describe_event_wait(observe::GraphNodeRead& node, const void* given);
/// The function for a node of any kind; null if nothing is to be recorded.
observe::DescribeNode describe_any(const CUgraphNodeParams& given, const void*& of) noexcept;

struct instantiate_graph : WhilePaused {
    template <Entry E>
    static CUresult call(CUgraphExec* out, CUgraph graph, CUgraphNode* node, char* log,
                         std::size_t bytes) noexcept {
        trace::Graph record;
        const CUresult result = timed<E>(record, out, graph, node, log, bytes);
        finish_instantiate(record, answered(result, out), graph, 0);
        return result;
    }
};

struct instantiate_graph_flags : WhilePaused {
    template <Entry E>
    static CUresult call(CUgraphExec* out, CUgraph graph, unsigned long long flags) noexcept {
        trace::Graph record;
        const CUresult result = timed<E>(record, out, graph, flags);
        finish_instantiate(record, answered(result, out), graph, flags);
        return result;
    }
};

struct instantiate_graph_params : WhilePaused {
    template <Entry E>
    static CUresult call(CUgraphExec* out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* given) noexcept {
        trace::Graph record;
        const CUresult result = timed<E>(record, out, graph, given);
        finish_instantiate(record, answered(result, out), graph, given != nullptr ? given->flags : 0);
        return result;
    }
};

/// Both forms of cuGraphExecUpdate, whose output parameters differ.
struct update_graph : WhilePaused {
    template <Entry E, class... Answers>
    static CUresult call(CUgraphExec exec, CUgraph graph, Answers... answers) noexcept {
        trace::Graph record;
        const CUresult result = timed<E>(record, exec, graph, answers...);
        finish_graph_update(record, exec, graph);
        return result;
    }
};

/// cuGraphExec*NodeSetParams: the structure is the third argument; copies and sets have a context behind it.
template <observe::DescribeNode Describe>
struct SetNode : WhilePaused {
    template <Entry E, class Given, class... Context>
    static CUresult call(CUgraphExec exec, CUgraphNode node, Given given, Context... context) noexcept {
        trace::Graph record;
        const CUresult result = timed<E>(record, exec, node, given, context...);
        finish_node_update(record, exec, node, Describe, given);
        return result;
    }
};
using set_kernel_node = SetNode<&describe_kernel_v1>;
using set_kernel_node_v2 = SetNode<&describe_kernel_v2>;
using set_copy_node = SetNode<&describe_copy>;
using set_set_node = SetNode<&describe_set>;
using set_host_node = SetNode<&describe_host>;
using set_event_record_node = SetNode<&describe_event_record>;
using set_event_wait_node = SetNode<&describe_event_wait>;

struct set_child_node : WhilePaused {
    template <Entry E>
    static CUresult call(CUgraphExec exec, CUgraphNode node, CUgraph child) noexcept {
        trace::Graph record;
        const CUresult result = timed<E>(record, exec, node, child);
        finish_child_update(record, exec, node, child);
        return result;
    }
};

struct set_node : WhilePaused {
    template <Entry E>
    static CUresult call(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* given) noexcept {
        trace::Graph record;
        const CUresult result = timed<E>(record, exec, node, given);
        if (given != nullptr && given->type == CU_GRAPH_NODE_TYPE_GRAPH) {
            finish_child_update(record, exec, node, given->graph.graph);
        } else {
            const void* of = nullptr;
            const observe::DescribeNode describe = given != nullptr ? describe_any(*given, of) : nullptr;
            finish_node_update(record, exec, node, describe, of);
        }
        return result;
    }
};

struct enable_node : WhilePaused {
    template <Entry E>
    static CUresult call(CUgraphExec exec, CUgraphNode node, unsigned enabled) noexcept {
        trace::Graph record;
        const CUresult result = timed<E>(record, exec, node, enabled);
        finish_node_enabled(record, exec, node, enabled != 0);
        return result;
    }
};

struct destroy_graph : WhilePaused {
    template <Entry E>
    static CUresult call(CUgraphExec exec) noexcept {
        trace::Graph record;
        record.entry = attach::index(E);
        begin_graph_destroy(record, exec);
        const CUresult result = timed<E>(record, exec);
        finish_graph(record);
        return result;
    }
};

struct launch_graph : WhileRecording {
    template <Entry E>
    static CUresult call(CUgraphExec exec, CUstream stream) noexcept {
        const record::OffStack<NewGraphLaunch> made;
        begin_graph_launch(*made, E, exec, stream_of<E>(stream));
        const CUresult result = timed<E>(made->record, exec, stream);
        finish_graph_launch(*made);
        return result;
    }
};

/// The driver gives the bodies of a conditional node only when it is made.
struct add_node : WhilePaused {
    template <Entry E, class... Arguments>
    static CUresult call(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                         Arguments... arguments) noexcept {
        const CUresult result = attach::real<E>()(out, graph, dependencies, arguments...);
        if (result == CUDA_SUCCESS)
            note_conditional(out, last(arguments...));
        return result;
    }

private:
    template <class First, class... Others>
    static CUgraphNodeParams* last([[maybe_unused]] First first, Others... others) noexcept {
        if constexpr (sizeof...(others) == 0)
            return first;
        else
            return last(others...);
    }
};

struct begin_capture : WhilePaused {
    template <Entry E, class... Arguments>
    static CUresult call(CUstream stream, Arguments... arguments) noexcept {
        trace::Graph record;
        record.stream = stream_of<E>(stream);
        const observe::CaptureOrigin origin = begin_capturing(record);
        const CUresult result = timed<E>(record, stream, arguments...);
        finish_begin_capture(record, origin);
        return result;
    }
};

struct end_capture : WhilePaused {
    template <Entry E>
    static CUresult call(CUstream stream, CUgraph* graph) noexcept {
        trace::Graph record;
        record.stream = stream_of<E>(stream);
        const std::uint64_t begun = observe::captures_begun();
        const CUresult result = timed<E>(record, stream, graph);
        finish_end_capture(record, graph, begun);
        return result;
    }
};

} // namespace umadvisor::wrappers
