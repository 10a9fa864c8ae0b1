// Uploads of the same memory, round after round. Prints what device memory holds after each.
//   pageable     synchronous, from pageable memory; the destination is overwritten after each
//   pinned       the same from pinned memory
//   places       to two destinations in turns
//   asynchronous in a stream that has no other work
//   threads      two threads, of memory of their own and of memory that both have
//   sizes        of two lengths in turns
//   changed      one byte of the source, the last or one in the middle, changes in some rounds
//   always       a byte changes in each round
//   anew         the source is freed in some rounds, and allocated with other bytes, in the same place
//   behind       asynchronous, behind a copy of the same stream that writes the source
//   legacy       asynchronous in the legacy default stream, behind another stream's copy that writes the source
//   blocking     asynchronous in another stream, behind the legacy default stream's copy that does
//   waiting      synchronous, behind another stream's copy that does
//   short        less than 1 MiB
//   combined     from write-combined memory
//   captured     in some rounds the upload becomes a graph
//   memory       in the end all memory of the device is asked for
//   freed        in the end all is freed, and the driver is asked what is in use
//   contexts     in a context that is destroyed in some rounds
#include "driver_program.hpp"

#include <string>
#include <string_view>
#include <sys/mman.h>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t whole = std::size_t{3} << 20;
constexpr int rounds = 40;

std::string_view what;
CUcontext context = nullptr;

bool is(std::string_view name) {
    return what == name;
}

CUstream make_stream(unsigned flags) {
    CUstream stream = nullptr;
    must(ASK("cuStreamCreate", cuStreamCreate)(&stream, flags), "stream");
    return stream;
}

void synchronize(CUstream stream) {
    must(ASK("cuStreamSynchronize", cuStreamSynchronize)(stream), "wait");
}

CUdeviceptr allocate(std::size_t bytes) {
    CUdeviceptr memory = 0;
    must(ASK("cuMemAlloc", cuMemAlloc_v2)(&memory, bytes), "device memory");
    return memory;
}

void set(CUdeviceptr at, int value, std::size_t bytes) {
    must(ASK("cuMemsetD8", cuMemsetD8_v2)(at, static_cast<unsigned char>(value), bytes), "set");
    synchronize(nullptr);
}

unsigned char* pin(unsigned flags = 0) {
    void* memory = nullptr;
    must(ASK("cuMemHostAlloc", cuMemHostAlloc)(&memory, whole, flags), "pinned memory");
    return static_cast<unsigned char*>(memory);
}

unsigned char* map(void* at = nullptr) {
    void* const memory = mmap(at, whole, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | (at != nullptr ? MAP_FIXED : 0), -1, 0);
    if (memory == MAP_FAILED)
        std::exit(4);
    return static_cast<unsigned char*>(memory);
}

void fill(unsigned char* at, unsigned seed) {
    for (std::size_t i = 0; i < whole; ++i)
        at[i] = static_cast<unsigned char>(i * 7 + i / 4096 + seed);
}

unsigned long sum(CUdeviceptr at, std::size_t bytes) {
    std::vector<unsigned char> now(bytes);
    must(ASK("cuMemcpyDtoH", cuMemcpyDtoH_v2)(now.data(), at, bytes), "download");
    unsigned long result = 0;
    for (const unsigned char each : now)
        result = result * 31 + each;
    return result;
}

/// One thread's memory, and its rounds.
struct Uploads {
    unsigned char* source = nullptr;
    CUdeviceptr target = allocate(2 * whole), written = allocate(whole);
    CUstream stream = make_stream(is("blocking") || is("legacy") || is("waiting") ? CU_STREAM_DEFAULT
                                                                                  : CU_STREAM_NON_BLOCKING);

    bool asynchronous() const { return is("asynchronous") || is("behind") || is("legacy") || is("blocking"); }

    void prepare() {
        const bool pinned = asynchronous() || is("pinned") || is("waiting");
        source = is("combined") ? pin(CU_MEMHOSTALLOC_WRITECOMBINED) : pinned ? pin() : map();
        fill(source, 1);
        set(written, 9, whole);
    }

    /// What writes the source on the device's side, behind work that takes a while. Only after some rounds.
    void write_source(int round) {
        if (round < 10 || (!is("behind") && !is("legacy") && !is("blocking") && !is("waiting")))
            return;
        const CUstream writer = is("blocking") ? nullptr : stream;
        must(ASK("cuMemsetD8Async", cuMemsetD8Async)(written, static_cast<unsigned char>(round), whole, writer),
             "set");
        must(ASK("cuMemcpyDtoHAsync", cuMemcpyDtoHAsync_v2)(source, written, whole, writer), "download");
    }

    void change(int round) {
        if (is("changed") && round % 12 == 11)
            ++source[round % 24 == 11 ? whole - 1 : whole / 2 + 12345];
        if (is("always"))
            ++source[static_cast<std::size_t>(round) * 77773 % whole];
        if (is("anew") && round % 10 == 9) {
            munmap(source, whole);
            source = map(source);
            fill(source, static_cast<unsigned>(round));
        }
    }

    void upload(int round) {
        const CUdeviceptr to = target + (is("places") && round % 2 != 0 ? whole : 0);
        const std::size_t bytes = is("short")                     ? (1u << 20) - 1
                                  : is("sizes") && round % 2 != 0 ? whole / 2
                                                                  : whole;
        if (asynchronous())
            must(ASK("cuMemcpyHtoDAsync", cuMemcpyHtoDAsync_v2)(to, source, bytes,
                                                                is("legacy") ? nullptr : stream),
                 "upload");
        else if (is("captured") && round % 7 == 6)
            upload_by_graph(to);
        else
            must(ASK("cuMemcpyHtoD", cuMemcpyHtoD_v2)(to, source, bytes), "upload");
    }

    void upload_by_graph(CUdeviceptr to) {
        CUgraph graph = nullptr;
        CUgraphExec exec = nullptr;
        must(ASK("cuStreamBeginCapture", cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_RELAXED),
             "begin");
        must(ASK("cuMemcpyHtoDAsync", cuMemcpyHtoDAsync_v2)(to, source, whole, stream), "upload");
        must(ASK("cuStreamEndCapture", cuStreamEndCapture)(stream, &graph), "end");
        must(ASK("cuGraphInstantiateWithFlags", cuGraphInstantiateWithFlags)(&exec, graph, 0), "instantiate");
        must(ASK("cuGraphLaunch", cuGraphLaunch)(exec, stream), "launch");
        synchronize(stream);
    }

    void run(std::vector<unsigned long>& sums) {
        for (int round = 0; round < (is("always") ? 5 * rounds : rounds); ++round) {
            change(round);
            write_source(round);
            upload(round);
            synchronize(stream);
            if (is("legacy") || is("blocking"))
                synchronize(nullptr);
            sums.push_back(sum(target, 2 * whole));
            set(target, round, whole);
        }
    }
};

void print(const std::vector<unsigned long>& sums) {
    for (const unsigned long each : sums)
        std::printf("%lu\n", each);
}

void run_one() {
    Uploads uploads;
    uploads.prepare();
    set(uploads.target, 0, 2 * whole);
    std::vector<unsigned long> sums;
    uploads.run(sums);
    print(sums);
    const auto info = ASK("cuMemGetInfo", cuMemGetInfo_v2);
    std::size_t free = 0, total = 0;
    if (is("memory")) {
        std::size_t blocks = 0;
        CUdeviceptr memory = 0;
        while (ASK("cuMemAlloc", cuMemAlloc_v2)(&memory, 1u << 20) == CUDA_SUCCESS)
            ++blocks;
        std::printf("%zu blocks\n", blocks);
        uploads.run(sums);
        print(sums);
    }
    if (is("freed")) {
        must(info(&free, &total), "info");
        std::printf("%zu in use\n", total - free);
    }
}

void run_threads() {
    static unsigned char* const shared = map();
    fill(shared, 3);
    const auto work = [](std::vector<unsigned long>* sums) {
        must(ASK("cuCtxSetCurrent", cuCtxSetCurrent)(context), "current");
        Uploads own, same;
        own.prepare();
        same.source = shared;
        set(own.target, 0, 2 * whole);
        set(same.target, 0, 2 * whole);
        own.run(*sums);
        same.run(*sums);
    };
    std::vector<unsigned long> sums[2];
    std::thread other(work, &sums[1]);
    work(&sums[0]);
    other.join();
    print(sums[0]);
    print(sums[1]);
}

void run_contexts() {
    unsigned char* const source = map();
    for (unsigned i = 0; i < 3; ++i) {
        CUcontext made = nullptr;
        must(ASK("cuCtxCreate", cuCtxCreate_v4)(&made, nullptr, 0, 0), "context");
        Uploads uploads;
        uploads.source = source;
        fill(source, i);
        set(uploads.target, 0, 2 * whole);
        std::vector<unsigned long> sums;
        uploads.run(sums);
        print(sums);
        must(ASK("cuCtxDestroy", cuCtxDestroy_v2)(made), "destroy");
    }
}

} // namespace

int main(int, char** arguments) {
    what = arguments[1];
    context = make_context();
    if (is("threads"))
        run_threads();
    else if (is("contexts"))
        run_contexts();
    else
        run_one();
    return 0;
}
