/// What is measured: one call (or one pair) of each kind, by either door.
#pragma once

#include "tools/bench/kernels.hpp"

#include <memory>

namespace bench {

/// What one thread calls upon: a stream and memory of its own.
struct Workplace {
    CUstream stream = nullptr;
    CUevent event = nullptr;
    CUdeviceptr arrays[16] = {};
    void* pinned = nullptr;
    CUgraphExec graph = nullptr;
};

class Operation {
public:
    Operation(const Doors& doors, const Kernels& kernels) : doors_(doors), kernels_(kernels) {}
    virtual ~Operation() = default;
    /// Null, or why it cannot be measured here.
    virtual const char* prepare(Workplace&) { return nullptr; }
    virtual void call(Workplace& place, bool hooked) const = 0;
    /// Calls between synchronisations: well under what the driver queues before it blocks.
    virtual int batch() const { return 256; }

protected:
    const Doors& doors_;
    const Kernels& kernels_;
};

struct LaunchWords : Operation {
    using Operation::Operation;
    void call(Workplace& place, bool hooked) const override {
        std::size_t zero = 0;
        void* parameters[] = {&place.arrays[0],
                              &place.arrays[1],
                              &place.arrays[2],
                              &place.arrays[3],
                              &place.arrays[4],
                              &place.arrays[5],
                              &zero,
                              &zero};
        doors_.cuLaunchKernel[hooked](kernels_.words, 1, 1, 1, 1, 1, 1, 0, place.stream, parameters, nullptr);
    }
};

struct LaunchStructure : Operation {
    using Operation::Operation;
    const char* prepare(Workplace& place) override {
        lists_ = std::make_unique<TensorLists>();
        for (int list = 0; list < TensorLists::lists; ++list)
            for (int i = 0; i < TensorLists::tensors; ++i)
                lists_->address[list][i] =
                    place.arrays[(list * 5 + i / 8) % 16] + static_cast<unsigned>(i) * 512;
        return nullptr;
    }
    void call(Workplace& place, bool hooked) const override {
        void* parameters[] = {lists_.get(), &place.arrays[0]};
        doors_.cuLaunchKernel[hooked](kernels_.structure, 1, 1, 1, 1, 1, 1, 0, place.stream, parameters,
                                      nullptr);
    }

private:
    std::unique_ptr<TensorLists> lists_;
};

struct SmallCopy : Operation {
    using Operation::Operation;
    void call(Workplace& place, bool hooked) const override {
        doors_.cuMemcpyHtoDAsync_v2[hooked](place.arrays[0], place.pinned, 4096, place.stream);
    }
};

struct AllocationPair : Operation {
    using Operation::Operation;
    void call(Workplace&, bool hooked) const override {
        CUdeviceptr made = 0;
        if (doors_.cuMemAlloc_v2[hooked](&made, 65536) == CUDA_SUCCESS)
            doors_.cuMemFree_v2[hooked](made);
    }
    int batch() const override { return 32; }
};

struct EventRecord : Operation {
    using Operation::Operation;
    void call(Workplace& place, bool hooked) const override {
        doors_.cuEventRecord[hooked](place.event, place.stream);
    }
};

struct GraphLaunch : Operation {
    using Operation::Operation;
    const char* prepare(Workplace& place) override {
        CUgraph graph = nullptr;
        const LaunchWords node(doors_, kernels_);
        if (doors_.cuStreamBeginCapture_v2.hooked(place.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) !=
            CUDA_SUCCESS)
            return "stream capture is not supported";
        for (int i = 0; i < 4; ++i)
            node.call(place, true);
        if (doors_.cuStreamEndCapture.hooked(place.stream, &graph) != CUDA_SUCCESS || graph == nullptr)
            return "stream capture is not supported";
        if (doors_.cuGraphInstantiateWithFlags.hooked(&place.graph, graph, 0) != CUDA_SUCCESS)
            return "graphs are not supported";
        return nullptr;
    }
    void call(Workplace& place, bool hooked) const override {
        doors_.cuGraphLaunch[hooked](place.graph, place.stream);
    }
    int batch() const override { return 64; }
};

/// Null where there is none of that name.
inline std::unique_ptr<Operation> operation_of(const char* name, const Doors& doors, const Kernels& kernels) {
    const auto is = [name](const char* other) { return std::strcmp(name, other) == 0; };
    if (is("launch"))
        return std::make_unique<LaunchWords>(doors, kernels);
    if (is("launch-structure"))
        return std::make_unique<LaunchStructure>(doors, kernels);
    if (is("copy"))
        return std::make_unique<SmallCopy>(doors, kernels);
    if (is("allocation"))
        return std::make_unique<AllocationPair>(doors, kernels);
    if (is("event"))
        return std::make_unique<EventRecord>(doors, kernels);
    if (is("graph-launch"))
        return std::make_unique<GraphLaunch>(doors, kernels);
    return nullptr;
}

} // namespace bench
