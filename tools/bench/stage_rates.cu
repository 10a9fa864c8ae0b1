// Copies of one size after another as they are, staged, and from pinned memory, in turns: the profiler's range
// switches staging, so that one process sees all three side by side. A JSON line for each direction, size and
// kind of call, times in microseconds from the call to the end of a synchronisation; and what is wrong, should
// something be.
//
//   umadvisor run -c cudaProfilerApi --act stage -- stage_rates [--mib LARGEST] [--rounds N]
#include "tools/examples/options.hpp"

#include <cstring>
#include <cuda_profiler_api.h>
#include <vector>

namespace {

#ifdef __CUDACC__
constexpr example::Options defaults{1024, 9};
#else
constexpr example::Options defaults{64, 3};
#endif
constexpr std::size_t smallest = 256 << 10;

struct Memory {
    char *device, *pageable, *pinned;
    cudaStream_t stream;
};

enum class Way { bare, staged, pinned };

double copy(const Memory& memory, Way way, std::size_t bytes, cudaMemcpyKind kind, bool asynchronous) {
    char* const host = way == Way::pinned ? memory.pinned : memory.pageable;
    void* const to = kind == cudaMemcpyHostToDevice ? memory.device : host;
    const void* const from = kind == cudaMemcpyHostToDevice ? host : memory.device;
    if (way == Way::staged)
        CHECK(cudaProfilerStart());
    const example::Stopwatch watch;
    if (asynchronous)
        CHECK(cudaMemcpyAsync(to, from, bytes, kind, memory.stream));
    else
        CHECK(cudaMemcpy(to, from, bytes, kind));
    CHECK(cudaStreamSynchronize(asynchronous ? memory.stream : nullptr));
    const double time = watch.microseconds();
    if (way == Way::staged)
        CHECK(cudaProfilerStop());
    return time;
}

/// What staged copies brought there and back.
bool brings_the_same(const Memory& memory, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
        memory.pageable[i] = static_cast<char>((i * 2654435761u + bytes) >> 11);
    copy(memory, Way::staged, bytes, cudaMemcpyHostToDevice, true);
    std::memcpy(memory.pinned, memory.pageable, bytes);
    std::memset(memory.pageable, 0, bytes);
    copy(memory, Way::staged, bytes, cudaMemcpyDeviceToHost, true);
    return std::memcmp(memory.pageable, memory.pinned, bytes) == 0;
}

/// Short copies differ by more from one to the next, and cost little.
std::size_t repetitions(std::size_t bytes) {
    constexpr std::size_t long_enough = 8 << 20;
    return std::max<std::size_t>(1, long_enough / bytes);
}

void measure(const Memory& memory, std::size_t bytes, cudaMemcpyKind kind, bool asynchronous,
             std::size_t rounds) {
    std::vector<double> times[3];
    constexpr Way ways[] = {Way::bare, Way::staged, Way::pinned};
    for (std::size_t round = 0; round <= rounds; ++round)
        for (std::size_t turn = 0; turn < 3; ++turn) { // each comes first, second and last alike
            const Way way = ways[(round + turn) % 3];
            const double time = copy(memory, way, bytes, kind, asynchronous);
            if (round != 0) // the first makes buffers and threads
                times[static_cast<int>(way)].push_back(time);
        }
    std::printf(
        "{\"direction\": \"%s\", \"asynchronous\": %s, \"bytes\": %zu, \"bare_us\": %.2f, \"staged_us\": %.2f, "
        "\"pinned_us\": %.2f}\n",
        kind == cudaMemcpyHostToDevice ? "h2d" : "d2h", asynchronous ? "true" : "false", bytes,
        example::median(times[0]), example::median(times[1]), example::median(times[2]));
    std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv) {
    const auto options = example::read_options(argc, argv, defaults);
    Memory memory{};
    CHECK(cudaMalloc(reinterpret_cast<void**>(&memory.device), options.bytes()));
    CHECK(cudaMallocHost(reinterpret_cast<void**>(&memory.pinned), options.bytes()));
    memory.pageable = static_cast<char*>(std::malloc(options.bytes()));
    if (memory.pageable == nullptr)
        example::refuse("no host memory");
    std::memset(memory.pageable, 1, options.bytes());
    CHECK(cudaStreamCreateWithFlags(&memory.stream, cudaStreamNonBlocking));
    bool right = true;
    for (std::size_t bytes = smallest; bytes <= options.bytes(); bytes *= 2) {
        right = right && brings_the_same(memory, bytes);
        for (const cudaMemcpyKind kind : {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost})
            for (const bool asynchronous : {false, true})
                measure(memory, bytes, kind, asynchronous, options.rounds * repetitions(bytes));
    }
    if (!right)
        std::fprintf(stderr, "stage_rates: staged copies brought something else\n");
    return right ? 0 : example::status_wrong;
}
