// Rounds that allocate from a pool, free, and wait. Prints every answer, and what the driver says of the pool.
//   refill        the same sizes in each round: `--act pools` has the pool keep them
//   own, shared   of a pool that the program has made; one that other processes may open
//   set           the program has set the threshold itself
//   late          the program sets it after some rounds, and to zero after some more
//   steady        the memory is not freed before the wait
//   wanted        after the rounds most of the card is asked for
//   destroyed     pools that live for a few rounds each
#include "driver_program.hpp"

#include <string_view>
#include <vector>

namespace {

constexpr std::size_t mib = 1u << 20;

std::size_t ask_pool(CUmemoryPool pool, CUmemPool_attribute what) {
    cuuint64_t value = 0;
    must(ASK("cuMemPoolGetAttribute", cuMemPoolGetAttribute)(pool, what, &value), "attribute");
    return value;
}

std::size_t free_memory() {
    std::size_t free = 0, total = 0;
    must(ASK("cuMemGetInfo", cuMemGetInfo_v2)(&free, &total), "info");
    return free;
}

CUmemoryPool make_pool(bool shared) {
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.handleTypes = shared ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
    CUmemoryPool pool = nullptr;
    must(ASK("cuMemPoolCreate", cuMemPoolCreate)(&pool, &properties), "create");
    return pool;
}

struct Rounds {
    CUmemoryPool pool = nullptr; ///< null: the current one
    bool frees_before_wait = true;
    int count = 40;
};

void run(const Rounds& rounds) {
    const auto synchronize = ASK("cuStreamSynchronize", cuStreamSynchronize);
    const auto release = ASK("cuMemFreeAsync", cuMemFreeAsync);
    for (int round = 0; round < rounds.count; ++round) {
        CUdeviceptr two[2] = {};
        for (CUdeviceptr& one : two)
            must(rounds.pool != nullptr ? ASK("cuMemAllocFromPoolAsync",
                                              cuMemAllocFromPoolAsync)(&one, 8 * mib, rounds.pool, nullptr)
                                        : ASK("cuMemAllocAsync", cuMemAllocAsync)(&one, 8 * mib, nullptr),
                 "allocate");
        must(ASK("cuMemsetD8", cuMemsetD8_v2)(two[0], static_cast<unsigned char>(round), 16), "set");
        unsigned char back = 0;
        must(ASK("cuMemcpyDtoHAsync", cuMemcpyDtoHAsync_v2)(&back, two[0], 1, nullptr), "copy");
        if (!rounds.frees_before_wait)
            must(synchronize(nullptr), "wait");
        for (const CUdeviceptr one : two)
            must(release(one, nullptr), "free");
        if (rounds.frees_before_wait)
            must(synchronize(nullptr), "wait");
        std::printf("%d ", back);
    }
    std::printf("\n");
}

} // namespace

int main(int, char** arguments) {
    const std::string_view what = arguments[1];
    must(ASK("cuInit", cuInit)(0), "init");
    CUcontext context = nullptr;
    must(ASK("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain)(&context, 0), "retain");
    must(ASK("cuCtxSetCurrent", cuCtxSetCurrent)(context), "current");
    CUmemoryPool pool = nullptr;
    must(ASK("cuDeviceGetDefaultMemPool", cuDeviceGetDefaultMemPool)(&pool, 0), "default");
    const bool own = what == "own" || what == "shared";
    if (own)
        pool = make_pool(what == "shared");
    cuuint64_t threshold = mib;
    if (what == "set")
        must(ASK("cuMemPoolSetAttribute", cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                                                 &threshold),
             "set");
    std::printf("free %zu\n", free_memory());
    if (what == "destroyed")
        for (int i = 0; i < 8; ++i) {
            const CUmemoryPool one = make_pool(false);
            run({one, true, 6});
            must(ASK("cuMemPoolDestroy", cuMemPoolDestroy)(one), "destroy");
        }
    else
        run({own ? pool : nullptr, what != "steady"});
    for (cuuint64_t late : {mib, std::size_t{0}})
        if (what == "late") {
            must(ASK("cuMemPoolSetAttribute", cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                                                     &late),
                 "set");
            run({});
            std::printf("threshold %zu\n", ask_pool(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD));
        }
    std::printf("threshold %zu\nfree %zu\n", ask_pool(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), free_memory());
    if (what == "wanted") {
        CUdeviceptr all = 0;
        const std::size_t bytes = free_memory() - 4 * mib;
        std::printf("all: %d\n", static_cast<int>(ASK("cuMemAlloc", cuMemAlloc_v2)(&all, bytes)));
        must(ASK("cuMemFree", cuMemFree_v2)(all), "free all");
        run({});
    }
    must(ASK("cuMemPoolTrimTo", cuMemPoolTrimTo)(pool, 0), "trim");
    std::printf("reserved %zu free %zu\n", ask_pool(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), free_memory());
    return 0;
}
