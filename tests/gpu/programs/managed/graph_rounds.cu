// Three kernels in a graph that is launched again and again; between launches the host writes the input and
// reads one of the results.
#include "tests/gpu/programs/work.hpp"

KERNEL accumulate(DevicePtr<unsigned> state, DevicePtr<const unsigned> input, std::size_t n) {
    GRID_STRIDE_LOOP(i, n) {
        state[i] += input[i];
    }
}

KERNEL mix(DevicePtr<unsigned> state, std::size_t n) {
    GRID_STRIDE_LOOP(i, n) {
        state[i] = state[i] * 3 + 1;
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {128, 16, 8});
    const std::size_t n = work.count<unsigned>(4);
    auto* const input = work.allocate<unsigned>(n);
    auto* const state = work.allocate<unsigned>(2 * n);
    auto* const result = work.allocate<unsigned>(n);
    std::memset(state, 0, 2 * n * sizeof *state);
    std::memset(result, 0, n * sizeof *result);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    LAUNCH(accumulate, 264, 256, stream, state, input, n);
    LAUNCH(mix, 264, 256, stream, state, 2 * n);
    LAUNCH(accumulate, 264, 256, stream, result, state + n, n);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));

    unsigned sum = 0;
    while (work.next_round()) {
        for (std::size_t i = 0; i < n; ++i)
            input[i] = static_cast<unsigned>(i + work.round());
        work.to_device(input, n, stream);
        work.to_device(result, n, stream);
        if (work.round() == 0)
            work.to_device(state, 2 * n, stream);
        CHECK(cudaGraphLaunch(exec, stream));
        work.to_host(input, n, stream);
        work.to_host(result, n, stream);
        CHECK(cudaStreamSynchronize(stream));
        for (std::size_t i = 0; i < n; ++i)
            sum += result[i];
    }

    bool right = true;
    for (std::size_t i = 0; i < n; ++i) {
        unsigned first = 0, second = 0, total = 0;
        for (std::size_t round = 0; round < work.round(); ++round) {
            first = (first + static_cast<unsigned>(i + round)) * 3 + 1;
            second = second * 3 + 1;
            total += second;
        }
        right = right && state[i] == first && result[i] == total;
    }
    std::printf("sum %u\n", sum);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    return work.conclude(state, 2 * n, right);
}
