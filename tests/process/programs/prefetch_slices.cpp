// Prefetches in slices, and advice again and again. Prints every answer, and what memory holds at the end.
//   slices    neighbours, a kernel's worth of other calls, and back: `--act join` makes fewer calls
//   host      the same, to the host
//   apart     each slice leaves a gap to the one before it
//   streams   the slices go to two streams in turns
//   queried   another call follows each slice
//   freed     the memory is freed after the slices
//   resumed   the program does nothing for a while, and then the host writes
//   threads   two threads prefetch different memory
//   beyond    the last slice is partly outside the allocation
//   advice    the same advice in each round
//   turns     advice and its opposite in turns
#include "driver_program.hpp"

#include <chrono>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t slice = 32u << 10, count = 64;

CUcontext context = nullptr;
CUmemLocation place(bool host) {
    CUmemLocation location{};
    location.type = host ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
    return location;
}

CUresult prefetch(CUdeviceptr at, std::size_t bytes, bool host, CUstream stream) {
    static const auto call = ASK("cuMemPrefetchAsync", cuMemPrefetchAsync_v2); // to look up is a call, too
    return call(at, bytes, place(host), 0, stream);
}

CUdeviceptr allocate() {
    CUdeviceptr memory = 0;
    must(ASK("cuMemAllocManaged", cuMemAllocManaged)(&memory, slice * count, CU_MEM_ATTACH_GLOBAL), "managed");
    return memory;
}

void synchronize() {
    must(ASK("cuStreamSynchronize", cuStreamSynchronize)(nullptr), "wait");
}

void release(CUdeviceptr memory) {
    std::printf("free %d\n", static_cast<int>(ASK("cuMemFree", cuMemFree_v2)(memory)));
}

/// The number of calls that succeeded.
template <class Between>
int prefetch_slices(CUdeviceptr memory, bool host, std::size_t step, const std::vector<CUstream>& streams,
                    const Between& between) {
    int good = 0;
    for (std::size_t i = 0; i < count; i += step) {
        good += prefetch(memory + i * slice, slice, host, streams[i % streams.size()]) == CUDA_SUCCESS;
        between();
    }
    return good;
}

void run(std::string_view what) {
    const CUdeviceptr memory = allocate();
    auto* const bytes = reinterpret_cast<unsigned char*>(memory);
    std::memset(bytes, 1, slice * count);
    CUstream one = nullptr, other = nullptr;
    must(ASK("cuStreamCreate", cuStreamCreate)(&one, CU_STREAM_NON_BLOCKING), "stream");
    must(ASK("cuStreamCreate", cuStreamCreate)(&other, CU_STREAM_NON_BLOCKING), "stream");
    const std::vector<CUstream> streams = what == "streams" ? std::vector{one, other} : std::vector{CUstream{}};
    const auto between = [&] {
        if (what == "queried")
            must(ASK("cuStreamQuery", cuStreamQuery)(one), "query");
    };
    for (int round = 0; round < 8; ++round) {
        const int good = prefetch_slices(memory, what == "host", what == "apart" ? 2 : 1, streams, between);
        int last = 0;
        if (what == "beyond")
            last = prefetch(memory + slice * count, slice, false, nullptr);
        if (what == "freed" && round == 7)
            break;
        if (what == "resumed") {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            bytes[round] = 9;
        }
        must(ASK("cuMemsetD8", cuMemsetD8_v2)(memory + static_cast<std::size_t>(round), 2, slice), "set");
        const int back = prefetch(memory, slice * count, what != "host", nullptr);
        synchronize();
        std::printf("%d %d %d\n", good, last, back);
    }
    if (what != "freed") {
        unsigned long sum = 0;
        for (std::size_t i = 0; i < slice * count; ++i)
            sum += bytes[i] * (i % 7 + 1);
        std::printf("sum %lu\n", sum);
    }
    release(memory);
    must(ASK("cuStreamDestroy", cuStreamDestroy_v2)(one), "destroy");
}

void run_threads() {
    const auto work = [](int* good) {
        must(ASK("cuCtxSetCurrent", cuCtxSetCurrent)(context), "current");
        const CUdeviceptr memory = allocate();
        for (int round = 0; round < 8; ++round)
            *good += prefetch_slices(memory, false, 1, {nullptr}, [] {});
        must(ASK("cuMemFree", cuMemFree_v2)(memory), "free");
    };
    int good[2] = {};
    std::thread other(work, good + 1);
    work(good);
    other.join();
    std::printf("threads %d %d\n", good[0], good[1]);
}

void advise(bool turns) {
    const CUdeviceptr memory = allocate();
    const auto call = ASK("cuMemAdvise", cuMemAdvise_v2);
    const auto give = [&](CUmem_advise advice) {
        std::printf("%d ", static_cast<int>(call(memory, slice * count, advice, place(false))));
    };
    for (int round = 0; round < 10; ++round) {
        give(CU_MEM_ADVISE_SET_READ_MOSTLY);
        give(CU_MEM_ADVISE_SET_PREFERRED_LOCATION);
        if (turns) {
            give(CU_MEM_ADVISE_UNSET_READ_MOSTLY);
            give(CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION);
        }
    }
    int value = 0;
    must(ASK("cuMemRangeGetAttribute", cuMemRangeGetAttribute)(
             &value, sizeof value, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, slice * count),
         "attribute");
    std::printf("read mostly %d\n", value);
    release(memory);
}

} // namespace

int main(int, char** arguments) {
    const std::string_view what = arguments[1];
    must(ASK("cuInit", cuInit)(0), "init");
    must(ASK("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain)(&context, 0), "retain");
    must(ASK("cuCtxSetCurrent", cuCtxSetCurrent)(context), "current");
    if (what == "threads")
        run_threads();
    else if (what == "advice" || what == "turns")
        advise(what == "turns");
    else
        run(what);
    return 0;
}
