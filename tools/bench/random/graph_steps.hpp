/// Graphs: captured or built node by node, replayed, and changed between two replays.
#pragma once

#include "tools/bench/random/copy_steps.hpp"
#include "tools/bench/random/kernels.hpp"

namespace random_program {

inline bool graph_takes(const Buffer& buffer) {
    return buffer.on_device != nullptr && buffer.bytes <= (1u << 20);
}

/// Two to four buffers that a graph works on; empty: there are not enough.
inline std::vector<Buffer*> graph_buffers(Worker& worker) {
    std::vector<Buffer*> found;
    for (std::size_t i = 2 + worker.random.below(3); i > 0; --i)
        if (Buffer* const each = worker.any([&](const Buffer& buffer) {
                return graph_takes(buffer) && std::find(found.begin(), found.end(), &buffer) == found.end();
            }))
            found.push_back(each);
    if (found.size() < 2)
        found.clear();
    return found;
}

inline void replay(Worker& worker, Graph& graph) {
    Stream& stream = worker.any_stream();
    for (Buffer* const buffer : graph.uses)
        worker.order(*buffer, stream);
    worker.expect(cudaGraphLaunch(graph.exec, stream.handle));
    for (Buffer* const buffer : graph.uses)
        buffer->last = &stream;
}

/// Instantiates and keeps it; the oldest makes room.
inline void keep(Worker& worker, Graph graph) {
    worker.expect(cudaGraphInstantiate(&graph.exec, graph.source, 0));
    if (!graph.kernel) {
        worker.expect(cudaGraphDestroy(graph.source));
        graph.source = nullptr;
    }
    if (graph.exec == nullptr)
        return;
    if (worker.graphs.size() == 4) {
        worker.destroy(worker.graphs.front());
        worker.graphs.erase(worker.graphs.begin());
    }
    worker.graphs.push_back(graph);
    replay(worker, worker.graphs.back());
}

/// What a stream is given while it captures.
inline void captured_operation(Worker& worker, const std::vector<Buffer*>& buffers, cudaStream_t stream) {
    const std::size_t first = worker.random.below(buffers.size());
    Buffer& out = *buffers[first];
    Buffer& in = *buffers[(first + 1) % buffers.size()];
    const std::size_t bytes = worker.random.length(std::min(out.bytes, in.bytes));
    switch (worker.random.below(4)) {
    case 0:
        return launch_change(worker, out, stream);
    case 1:
        return launch_merge(worker, out, in, stream);
    case 2:
        if (out.on_host())
            return launch_change(worker, out, stream);
        return worker.expect(cudaMemsetAsync(out.on_device, static_cast<int>(bytes & 255), bytes, stream));
    default:
        worker.expect(cudaMemcpyAsync(out.at, in.at, bytes, cudaMemcpyDefault, stream));
    }
}

inline cudaGraph_t capture(Worker& worker, const std::vector<Buffer*>& buffers, Stream& stream, Stream& fork) {
    const std::shared_lock<std::shared_mutex> nobody_waits(captures());
    worker.expect(cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeThreadLocal));
    for (std::size_t i = 1 + worker.random.below(5); i > 0; --i) {
        const bool aside = &fork != &stream && worker.random.one_in(3);
        if (aside)
            worker.wait_for(stream, fork);
        captured_operation(worker, buffers, aside ? fork.handle : stream.handle);
        if (aside)
            worker.wait_for(fork, stream);
    }
    cudaGraph_t made = nullptr;
    worker.expect(cudaStreamEndCapture(stream.handle, &made));
    return made;
}

inline void capture_step(Worker& worker) {
    Graph graph;
    graph.uses = graph_buffers(worker);
    if (graph.uses.empty())
        return;
    Stream& stream = worker.capturing_stream();
    graph.source = capture(worker, graph.uses, stream, worker.capturing_stream());
    keep(worker, graph);
}

/// The node of a captured launch tells what the driver calls the kernel.
inline CUDA_KERNEL_NODE_PARAMS captured_kernel(Worker& worker, Buffer& out) {
    const cudaStream_t stream = worker.capturing_stream().handle;
    const std::shared_lock<std::shared_mutex> nobody_waits(captures());
    cudaGraph_t graph = nullptr;
    CUgraphNode node = nullptr;
    std::size_t count = 1;
    CUDA_KERNEL_NODE_PARAMS found{};
    worker.expect(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    launch_change(worker, out, stream);
    worker.expect(cudaStreamEndCapture(stream, &graph));
    worker.expect(driver().graph_nodes(graph, &node, &count));
    worker.expect(driver().kernel_parameters(node, &found));
    worker.expect(cudaGraphDestroy(graph));
    return found;
}

/// Calls `use` with the parameters of `change` on `out`.
template <class Use>
void with_kernel(Worker& worker, Buffer& out, Use use) {
    CUDA_KERNEL_NODE_PARAMS kernel = captured_kernel(worker, out);
    std::size_t stride = any_stride(worker, out);
    auto key = static_cast<unsigned>(worker.random.next());
    void* parameters[] = {&out.on_device, &out.bytes, &stride, &key};
    kernel.kernelParams = parameters;
    kernel.extra = nullptr;
    use(kernel);
}

inline void build_step(Worker& worker) {
    const std::vector<Buffer*> buffers = graph_buffers(worker);
    if (buffers.empty() || buffers[0]->on_host()) // no node sets host memory
        return;
    Buffer &first = *buffers[0], &second = *buffers[1];
    Graph graph;
    graph.uses = buffers;
    CUcontext context = nullptr;
    CUgraphNode set = nullptr, copy = nullptr;
    worker.expect(driver().context(&context));
    worker.expect(driver().graph(&graph.source, 0));
    CUDA_MEMSET_NODE_PARAMS value{};
    value.dst = address_of(first.on_device);
    value.elementSize = 1;
    value.value = static_cast<unsigned>(worker.random.below(256));
    value.width = worker.random.length(first.bytes);
    value.height = 1;
    worker.expect(driver().add_set(&set, graph.source, nullptr, 0, &value, context));
    const CUDA_MEMCPY3D box = box_between(worker, second, first);
    worker.expect(driver().add_copy(&copy, graph.source, &set, 1, &box, context));
    with_kernel(worker, second, [&](const CUDA_KERNEL_NODE_PARAMS& kernel) {
        worker.expect(driver().add_kernel(&graph.kernel, graph.source, &copy, 1, &kernel));
    });
    keep(worker, graph);
}

inline void replay_step(Worker& worker) {
    if (worker.graphs.empty())
        return;
    Graph& graph = worker.graphs[worker.random.below(worker.graphs.size())];
    if (graph.kernel && worker.random.one_in(3)) {
        Buffer& out = *graph.uses[worker.random.below(graph.uses.size())];

        with_kernel(worker, out, [&](const CUDA_KERNEL_NODE_PARAMS& kernel) {
            worker.expect(driver().set_exec_kernel(graph.exec, graph.kernel, &kernel));
        });
    }
    replay(worker, graph);
}

} // namespace random_program
