// Copy in, kernel, copy out over pinned memory, in three orders: serial (one stream), per-stream (each stream
// copies, computes and copies back) and phase-wise (all copies in, then all kernels, then all copies out). The
// last two let copies and kernels run side by side.
#include "options.hpp"

#include "tools/simcuda/portable.hpp"

#ifdef __CUDACC__
constexpr example::Options defaults{64, 5, false, "serial"};
#else
constexpr example::Options defaults{2, 2, false, "serial"};
#endif

constexpr std::size_t parts = 4;

// Integer arithmetic: the host repeats it bit for bit.
constexpr unsigned steps = 16;

KERNEL scramble(DevicePtr<unsigned> data, std::size_t n) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
        unsigned value = data[i];
        for (unsigned step = 0; step < steps; ++step)
            value = value * 1664525u + 1013904223u;
        COMPUTE(2 * steps);
        data[i] = value;
    }
}

struct Part {
    unsigned* host;
    unsigned* device;
    std::size_t n;
    cudaStream_t stream;

    void copy_in() const {
        CHECK(cudaMemcpyAsync(device, host, n * sizeof(unsigned), cudaMemcpyHostToDevice, stream));
    }
    void compute() const { LAUNCH(scramble, 264, 256, stream, device, n); }
    void copy_out() const {
        CHECK(cudaMemcpyAsync(host, device, n * sizeof(unsigned), cudaMemcpyDeviceToHost, stream));
    }
};

void run_whole_parts(const std::vector<Part>& all) {
    for (const Part& part : all) {
        part.copy_in();
        part.compute();
        part.copy_out();
    }
}

void run_phases(const std::vector<Part>& all) {
    for (const Part& part : all)
        part.copy_in();
    for (const Part& part : all)
        part.compute();
    for (const Part& part : all)
        part.copy_out();
}

int main(int argc, char** argv) {
    const auto options = example::read_options(argc, argv, defaults);
    const bool serial = !std::strcmp(options.order, "serial");
    const bool phases = !std::strcmp(options.order, "phase-wise");
    if (!serial && !phases && std::strcmp(options.order, "per-stream"))
        example::refuse("--order takes serial, per-stream or phase-wise");
    const std::size_t n = options.bytes() / sizeof(unsigned);

    unsigned *host, *device;
    CHECK(cudaMallocHost(&host, options.bytes()));
    CHECK(cudaMalloc(&device, options.bytes()));
    for (std::size_t i = 0; i < n; ++i)
        host[i] = static_cast<unsigned>(i);
    std::vector<cudaStream_t> streams(serial ? 1 : parts);
    for (cudaStream_t& stream : streams)
        CHECK(cudaStreamCreate(&stream));
    std::vector<Part> all;
    for (std::size_t i = 0; i < parts; ++i)
        all.push_back(
            {host + i * (n / parts), device + i * (n / parts), n / parts, streams[i % streams.size()]});

    std::vector<double> rounds;
    for (std::size_t round = 0; round < options.rounds; ++round) {
        const example::Stopwatch watch;
        if (phases)
            run_phases(all);
        else
            run_whole_parts(all);
        CHECK(cudaDeviceSynchronize());
        rounds.push_back(watch.microseconds());
    }

    bool right = true;
    for (std::size_t i = 0; i < n; ++i) {
        unsigned expected = static_cast<unsigned>(i);
        for (std::size_t step = 0; step < steps * options.rounds; ++step)
            expected = expected * 1664525u + 1013904223u;
        right = right && host[i] == expected;
    }
    if (options.time)
        example::print_time("round.median", example::median(rounds));
    const auto digest = example::checksum(host, options.bytes());
    for (cudaStream_t stream : streams)
        CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(host));
    return example::conclude(n, digest, right);
}
