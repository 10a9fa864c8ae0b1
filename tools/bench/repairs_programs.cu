// Habits that a mode of --act repairs, one a name, and the change of the source that an expert would make.
//   reuse          device memory made anew for each operation; fixed: kept
//   pinned         page-locked memory made anew for each message; fixed: kept
//   register       a buffer page-locked for each transfer; fixed: once
//   pools          a pool that gives its memory back at each wait; fixed: a release threshold
//   prefetch       a managed range prefetched in slices; fixed: at once
//   scalar         a managed number that device and host use in each round; fixed: a page-locked copy
//   on the device pool_refill    one GiB of a pool, freed and asked for again after a wait; prints the median
//   time of the request
// Prints `result N`, the same in both forms, and `elapsed ms: N`.
#include "tools/examples/options.hpp"

#include "tools/simcuda/portable.hpp"

namespace {

constexpr std::size_t kib = 1024, mib = 1024 * kib, page = 64 * kib / sizeof(unsigned);

struct Result {
    unsigned value;
    double milliseconds;
};

cudaStream_t make_stream() {
    cudaStream_t stream = nullptr;
    CHECK(cudaStreamCreate(&stream));
    return stream;
}

unsigned read(const unsigned* device) {
    unsigned value = 0;
    CHECK(cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

double milliseconds(const example::Stopwatch& watch) {
    return watch.microseconds() / 1000;
}

} // namespace

/// One word of each 64 KiB: what matters is how memory is got, not how much is computed.
KERNEL carry(DevicePtr<const unsigned> from, DevicePtr<unsigned> to, std::size_t pages) {
    for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < pages; i += gridDim.x * blockDim.x) {
        unsigned word = from[i * page];
        to[i * page] = word * 3u + 1u;
    }
}

KERNEL add_pages(DevicePtr<const unsigned> from, DevicePtr<unsigned> sums, std::size_t pages) {
    const std::size_t first = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = sums[first];
    for (std::size_t i = first; i < pages; i += gridDim.x * blockDim.x) {
        unsigned word = from[i * page];
        sum += word;
    }
    sums[first] = sum;
}

KERNEL fill_pages(DevicePtr<unsigned> to, std::size_t pages, unsigned value) {
    for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < pages; i += gridDim.x * blockDim.x) {
        to[i * page] = value;
    }
}

KERNEL count(DevicePtr<unsigned> counter) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        unsigned value = *counter;
        *counter = value * 5u + 1u;
    }
}

namespace {

Result reuse(bool fixed) {
    constexpr std::size_t bytes = 4 * mib, operations = 2400;
    unsigned* kept[2] = {};
    for (unsigned*& each : kept)
        CHECK(cudaMalloc(&each, bytes));
    CHECK(cudaMemset(kept[0], 0, bytes));
    unsigned *from = kept[0], *spare = kept[1];
    if (!fixed)
        CHECK(cudaFree(spare));
    const example::Stopwatch watch;
    for (std::size_t i = 0; i < operations; ++i) {
        unsigned* to = spare;
        if (!fixed)
            CHECK(cudaMalloc(&to, bytes));
        LAUNCH(carry, 4, 256, nullptr, from, to, bytes / sizeof(unsigned) / page);
        spare = from;
        if (!fixed)
            CHECK(cudaFree(from));
        from = to;
    }
    CHECK(cudaDeviceSynchronize());
    const double elapsed = milliseconds(watch);
    return {read(from), elapsed};
}

Result pinned(bool fixed) {
    constexpr std::size_t bytes = 2 * mib, messages = 250;
    const cudaStream_t stream = make_stream();
    unsigned *message = nullptr, *device = nullptr, *sums = nullptr;
    CHECK(cudaMalloc(&device, bytes));
    CHECK(cudaMalloc(&sums, 256 * sizeof *sums));
    CHECK(cudaMemset(sums, 0, 256 * sizeof *sums));
    if (fixed)
        CHECK(cudaMallocHost(&message, bytes));
    const example::Stopwatch watch;
    for (std::size_t i = 0; i < messages; ++i) {
        if (!fixed)
            CHECK(cudaMallocHost(&message, bytes));
        for (std::size_t word = 0; word < bytes / sizeof *message; word += page)
            message[word] = static_cast<unsigned>(word + i);
        CHECK(cudaMemcpyAsync(device, message, bytes, cudaMemcpyHostToDevice, stream));
        LAUNCH(add_pages, 1, 256, stream, device, sums, bytes / sizeof(unsigned) / page);
        CHECK(cudaStreamSynchronize(stream));
        if (!fixed)
            CHECK(cudaFreeHost(message));
    }
    const double elapsed = milliseconds(watch);
    return {read(sums + 7), elapsed};
}

Result register_buffer(bool fixed) {
    constexpr std::size_t bytes = 32 * mib, transfers = 40;
    const cudaStream_t stream = make_stream();
    std::vector<unsigned> frame(bytes / sizeof(unsigned), 1);
    unsigned* device = nullptr;
    CHECK(cudaMalloc(&device, bytes));
    const example::Stopwatch watch;
    if (fixed)
        CHECK(cudaHostRegister(frame.data(), bytes, cudaHostRegisterDefault));
    for (std::size_t i = 0; i < transfers; ++i) {
        if (!fixed)
            CHECK(cudaHostRegister(frame.data(), bytes, cudaHostRegisterDefault));
        CHECK(cudaMemcpyAsync(device, frame.data(), bytes, cudaMemcpyHostToDevice, stream));
        LAUNCH(carry, 32, 256, stream, device, device, bytes / sizeof(unsigned) / page);
        CHECK(cudaMemcpyAsync(frame.data(), device, bytes, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        if (!fixed)
            CHECK(cudaHostUnregister(frame.data()));
    }
    const double elapsed = milliseconds(watch);
    if (fixed)
        CHECK(cudaHostUnregister(frame.data()));
    return {frame[page], elapsed};
}

void hold_default_pool() {
    cudaMemPool_t pool = nullptr;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    std::uint64_t all = UINT64_MAX;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
}

Result pools(bool fixed) {
    constexpr std::size_t bytes = 128 * mib, rounds = 200, blocks = 2;
    const cudaStream_t stream = make_stream();
    unsigned* sums = nullptr;
    CHECK(cudaMalloc(&sums, 256 * sizeof *sums));
    CHECK(cudaMemset(sums, 0, 256 * sizeof *sums));
    if (fixed)
        hold_default_pool();
    const example::Stopwatch watch;
    for (std::size_t i = 0; i < rounds; ++i) {
        unsigned* memory[blocks] = {};
        for (unsigned*& each : memory)
            CHECK(cudaMallocAsync(&each, bytes, stream));
        for (unsigned* each : memory) {
            LAUNCH(fill_pages, 1, 256, stream, each, 64, static_cast<unsigned>(i));
            LAUNCH(add_pages, 1, 256, stream, each, sums, 64);
        }
        for (unsigned* each : memory)
            CHECK(cudaFreeAsync(each, stream));
        CHECK(cudaStreamSynchronize(stream));
    }
    const double elapsed = milliseconds(watch);
    return {read(sums + 7), elapsed};
}

cudaMemLocation on(cudaMemLocationType where) {
    cudaMemLocation location{};
    location.type = where;
    return location;
}

Result prefetch(bool fixed) {
    constexpr std::size_t bytes = 64 * mib, slice = 32 * kib, rounds = 24;
    unsigned *memory = nullptr, *sums = nullptr;
    CHECK(cudaMallocManaged(&memory, bytes));
    CHECK(cudaMalloc(&sums, 4096 * sizeof *sums));
    CHECK(cudaMemset(sums, 0, 4096 * sizeof *sums));
    const auto host = on(cudaMemLocationTypeHost), device = on(cudaMemLocationTypeDevice);
    CHECK(cudaMemPrefetchAsync(memory, bytes, host, 0, nullptr));
    CHECK(cudaDeviceSynchronize());
    std::memset(memory, 0, bytes);
    const std::size_t once = fixed ? bytes : slice;
    const example::Stopwatch watch;
    for (std::size_t i = 0; i < rounds; ++i) {
        for (std::size_t word = 0; word < bytes / sizeof *memory; word += page)
            memory[word] = static_cast<unsigned>(word * i);
        for (std::size_t at = 0; at < bytes; at += once)
            CHECK(cudaMemPrefetchAsync(memory + at / sizeof *memory, once, device, 0, nullptr));
        LAUNCH(add_pages, 16, 256, nullptr, memory, sums, bytes / sizeof(unsigned) / page);
        CHECK(cudaMemPrefetchAsync(memory, bytes, host, 0, nullptr));
        CHECK(cudaDeviceSynchronize());
    }
    const double elapsed = milliseconds(watch);
    return {read(sums + 7), elapsed};
}

Result scalar(bool fixed) {
    constexpr std::size_t rounds = 4000;
    unsigned *number = nullptr, *copy = nullptr;
    if (fixed) {
        CHECK(cudaMalloc(&number, sizeof *number));
        CHECK(cudaMemset(number, 0, sizeof *number));
    } else {
        CHECK(cudaMallocManaged(&number, sizeof *number));
        *number = 0;
    }
    CHECK(cudaMallocHost(&copy, sizeof *copy));
    unsigned sum = 0;
    const example::Stopwatch watch;
    for (std::size_t i = 0; i < rounds; ++i) {
        CHECK(cudaMemsetAsync(number, 0, sizeof *number, nullptr));
        LAUNCH(count, 1, 32, nullptr, number);
        if (fixed)
            CHECK(cudaMemcpyAsync(copy, number, sizeof *copy, cudaMemcpyDeviceToHost, nullptr));
        CHECK(cudaDeviceSynchronize());
        sum += fixed ? *copy : *number;
    }
    return {sum, milliseconds(watch)};
}

Result pool_refill(bool fixed) {
    constexpr std::size_t bytes = 1024 * mib, rounds = 60;
    const cudaStream_t stream = make_stream();
    if (fixed)
        hold_default_pool();
    std::vector<double> times;
    const example::Stopwatch watch;
    for (std::size_t i = 0; i < rounds; ++i) {
        unsigned* memory = nullptr;
        const example::Stopwatch call;
        CHECK(cudaMallocAsync(&memory, bytes, stream));
        times.push_back(call.microseconds());
        LAUNCH(fill_pages, 1, 256, stream, memory, 64, 1u);
        CHECK(cudaFreeAsync(memory, stream));
        CHECK(cudaStreamSynchronize(stream));
    }
    const double elapsed = milliseconds(watch);
    std::printf("median us: %.3f\n", example::median(times));
    return {rounds, elapsed};
}

struct Habit {
    const char* name;
    Result (*run)(bool fixed);
};
constexpr Habit habits[] = {
    {"reuse", reuse},       {"pinned", pinned}, {"register", register_buffer}, {"pools", pools},
    {"prefetch", prefetch}, {"scalar", scalar}, {"pool_refill", pool_refill},
};

} // namespace

int main(int argc, char** argv) {
    const bool fixed = argc == 3 && !std::strcmp(argv[2], "fixed");
    for (const Habit& habit : habits) {
        if (argc < 2 || (argc > 2 && !fixed) || std::strcmp(argv[1], habit.name))
            continue;
        CHECK(cudaFree(nullptr));
        const Result result = habit.run(fixed);
        std::printf("result %u\nelapsed ms: %.3f\n", result.value, result.milliseconds);
        return 0;
    }
    example::refuse("usage: reuse|pinned|register|pools|prefetch|scalar|pool_refill [fixed]");
}
