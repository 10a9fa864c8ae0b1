// A step of copies and a kernel, captured once into a graph and launched again and again, as frameworks replay
// a training or inference step; half way through, the executable graph is updated to another step. Every copy
// is made by the device from a graph: no call of the program names it.
#include "options.hpp"

#include "tools/simcuda/portable.hpp"

#ifdef __CUDACC__
constexpr example::Options defaults{16, 20};
#else
constexpr example::Options defaults{2, 6};
#endif

KERNEL accumulate(DevicePtr<float> total, DevicePtr<const float> data, float factor, std::size_t n) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
        total[i] += factor * data[i];
}

struct Step {
    float *host, *back, *data, *total;
    std::size_t n;
};

cudaGraph_t capture(const Step& step, float factor, cudaStream_t stream) {
    const std::size_t bytes = step.n * sizeof(float);
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemcpyAsync(step.data, step.host, bytes, cudaMemcpyHostToDevice, stream));
    LAUNCH(accumulate, 264, 256, stream, step.total, step.data, factor, step.n);
    CHECK(cudaMemcpyAsync(step.back, step.total, bytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

int main(int argc, char** argv) {
    const auto options = example::read_options(argc, argv, defaults);
    Step step{};
    step.n = options.bytes() / sizeof(float);
    CHECK(cudaMallocHost(&step.host, options.bytes()));
    CHECK(cudaMallocHost(&step.back, options.bytes()));
    CHECK(cudaMalloc(&step.data, options.bytes()));
    CHECK(cudaMalloc(&step.total, options.bytes()));
    CHECK(cudaMemset(step.total, 0, options.bytes()));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    for (std::size_t i = 0; i < step.n; ++i)
        step.host[i] = static_cast<float>(i % 1000);

    const cudaGraph_t first = capture(step, 1, stream), second = capture(step, 2, stream);
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, first, 0));
    std::vector<double> replays;
    for (std::size_t round = 0; round < 2 * options.rounds; ++round) {
        cudaGraphExecUpdateResultInfo info{};
        if (round == options.rounds)
            CHECK(cudaGraphExecUpdate(exec, second, &info));
        const example::Stopwatch watch;
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        replays.push_back(watch.microseconds());
    }

    bool right = true;
    const auto rounds = static_cast<float>(3 * options.rounds); // once as often, then twice as much
    for (std::size_t i = 0; i < step.n; ++i)
        right = right && step.back[i] == static_cast<float>(i % 1000) * rounds;
    if (options.time)
        example::print_time("replay.median", example::median(replays));
    const auto digest = example::checksum(step.back, options.bytes());
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(first));
    CHECK(cudaGraphDestroy(second));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(step.data));
    CHECK(cudaFree(step.total));
    CHECK(cudaFreeHost(step.host));
    CHECK(cudaFreeHost(step.back));
    return example::conclude(step.n, digest, right);
}
