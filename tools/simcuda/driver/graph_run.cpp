// Launches of executable graphs.
#include "tools/simcuda/driver/capture.hpp"
#include "tools/simcuda/driver/copy_rows.hpp"
#include "tools/simcuda/driver/graph.hpp"
#include "tools/simcuda/driver/stream.hpp"
#include "tools/simcuda/driver/work.hpp"

#include <algorithm>

using namespace simcuda;

namespace {

/// Runs the nodes, one after the other, in a stream that is not locked.
class GraphRun {
public:
    GraphRun(CUstream_st* stream, int device) : stream_(stream), device_(device) {}

    CUresult run(const ExecNodes& nodes) {
        for (const ExecNode& node : nodes) {
            if (!node.enabled) {
                continue;
            }
            if (const CUresult failed =
                    std::visit([&](const auto& work) { return run(work, node); }, node.work)) {
                return failed;
            }
        }
        return CUDA_SUCCESS;
    }

private:
    template <class Do>
    CUresult locked(Do act) {
        const Guard guard(driver().mutex);
        return driver().streams.contains(stream_) ? act(*stream_) : CUDA_ERROR_INVALID_HANDLE;
    }

    CUresult run(const KernelWork& work, const ExecNode&) {
        {
            const Guard guard(driver().mutex);
            ++driver().control.launches;
        }
        std::vector<void*> pointers = work.pointers;
        run_kernel(*work.entry, pointers.data(), work.shape, stream_, device_);
        return CUDA_SUCCESS;
    }
    CUresult run(const CopyWork& work, const ExecNode&) {
        CUDA_MEMCPY3D copy = work.parameters;
        copy.Height = std::max<std::size_t>(copy.Height, 1);
        copy.Depth = std::max<std::size_t>(copy.Depth, 1);
        PlacedRows rows;
        if (!place_rows(copy, rows)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        return locked(
            [&](CUstream_st& stream) { return run_copy(stream, rows.target, rows.source, rows.shape); });
    }
    CUresult run(const SetWork& work, const ExecNode&) {
        return locked([&](CUstream_st& stream) { return run_set(stream, work.parameters); });
    }
    CUresult run(const HostWork& work, const ExecNode&) {
        work.parameters.fn(work.parameters.userData);
        return CUDA_SUCCESS;
    }
    CUresult run(const ChildWork&, const ExecNode& node) { return run(node.inner.front()); }
    CUresult run(const EmptyWork&, const ExecNode&) { return CUDA_SUCCESS; }
    CUresult run(const EventWaitWork& work, const ExecNode&) {
        return locked([&](CUstream_st& stream) {
            if (driver().events.contains(work.event) && work.event->recorded) {
                occupy(stream, Engine::none, work.event->time);
            }
            return CUDA_SUCCESS;
        });
    }
    CUresult run(const EventRecordWork& work, const ExecNode&) {
        return locked([&](CUstream_st& stream) {
            if (driver().events.contains(work.event)) {
                work.event->captured = false;
                work.event->recorded = true;
                work.event->time = earliest_start(stream, Engine::none);
            }
            return CUDA_SUCCESS;
        });
    }
    CUresult run(const AllocWork& work, const ExecNode&) {
        const Guard guard(driver().mutex);
        work.memory->live = true;
        return CUDA_SUCCESS;
    }
    CUresult run(const FreeWork& work, const ExecNode&) {
        const Guard guard(driver().mutex);
        free_graph_memory(work.address);
        return CUDA_SUCCESS;
    }
    /// No device code can change the condition here: a WHILE body runs once where it would run at all.
    CUresult run(const ConditionalWork& work, const ExecNode& node) {
        unsigned value = 0;
        {
            const Guard guard(driver().mutex);
            value = graphs().conditions[work.parameters.handle];
        }
        std::size_t body = value;
        if (work.parameters.type != CU_GRAPH_COND_TYPE_SWITCH) {
            body = value ? 0 : work.parameters.type == CU_GRAPH_COND_TYPE_IF ? 1 : node.inner.size();
        }
        return body < node.inner.size() ? run(node.inner[body]) : CUDA_SUCCESS;
    }

    CUstream_st* stream_;
    int device_;
};

/// Whether a launch would allocate what an earlier one has not freed.
bool still_allocated(const ExecNodes& nodes) {
    return std::ranges::any_of(nodes, [](const ExecNode& node) {
        const auto* const alloc = std::get_if<AllocWork>(&node.work);
        return alloc && alloc->memory->live;
    });
}

CUresult launch(CUgraphExec exec, CUstream handle, bool per_thread) {
    std::shared_ptr<const ExecNodes> nodes;
    CUstream_st* stream = nullptr;
    int device = 0;
    {
        const Guard guard(driver().mutex);
        stream = resolve_stream(handle, per_thread);
        if (!stream || !graphs().execs.contains(exec)) {
            return stream ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
        }
        bool captured = false;
        if (const CUresult refused = admit_operation(*stream, captured)) {
            return refused;
        }
        if (captured) {
            // The graph becomes a child of the one that is captured. Its own graph may be changed or gone.
            if (!exec->graph || !graphs().graphs.contains(exec->graph)) {
                return CUDA_ERROR_NOT_SUPPORTED;
            }
            const auto inner = make_graph();
            inner->owned = true;
            copy_nodes(*exec->graph, *inner);
            return capture_work(*stream, ChildWork{inner});
        }
        if (still_allocated(*exec->nodes) && !(exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        nodes = exec->nodes;
        driver().clock.advance(driver().prices.launch_call);
        device = stream->context->device;
    }
    return GraphRun(stream, device).run(*nodes);
}

} // namespace

SIMCUDA_STREAM_PAIR(cuGraphLaunch, _ptsz, (CUgraphExec exec, CUstream stream),
                    return launch(exec, stream, per_thread);)
