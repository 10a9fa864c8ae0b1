// Device memory in the ways that programs rely on. Prints every answer: the same, whoever the memory came from.
#include "driver_program.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t mib = 1u << 20;

const auto allocate = ASK("cuMemAlloc", cuMemAlloc_v2);
const auto release = ASK("cuMemFree", cuMemFree_v2);

void show(const char* what, CUresult answer) {
    std::printf("%s %d\n", what, static_cast<int>(answer));
}

/// Fills `bytes` at `memory` and reads them back.
bool works(CUdeviceptr memory, std::size_t bytes) {
    std::vector<std::uint8_t> back(bytes);
    must(ASK("cuMemsetD8", cuMemsetD8_v2)(memory, 0x5a, bytes), "set");
    must(ASK("cuMemcpyDtoH", cuMemcpyDtoH_v2)(back.data(), memory, bytes), "copy");
    for (const std::uint8_t byte : back)
        if (byte != 0x5a)
            return false;
    return true;
}

void show_attributes(CUdeviceptr memory) {
    const auto one = ASK("cuPointerGetAttribute", cuPointerGetAttribute);
    unsigned type = 0;
    unsigned managed = 1; // of which the driver may write a byte or all
    int device = -1;
    void* host = &type;
    show("memory type", one(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory));
    show("is managed", one(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, memory));
    show("host pointer", one(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, memory));
    show("device", one(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory));
    std::printf("%u %u %d %d\n", type, managed & 0xff, host != nullptr, device);
    std::array which{CU_POINTER_ATTRIBUTE_HOST_POINTER, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                     CU_POINTER_ATTRIBUTE_MEMORY_TYPE};
    std::array<void*, 3> out{&host, &managed, &type};
    host = &type;
    managed = 1;
    type = 0;
    show("attributes",
         ASK("cuPointerGetAttributes", cuPointerGetAttributes)(3, which.data(), out.data(), memory));
    std::printf("%u %u %d\n", type, managed & 0xff, host != nullptr);
}

void show_range(CUdeviceptr memory) {
    CUdeviceptr base = 0;
    std::size_t bytes = 0;
    show("range", ASK("cuMemGetAddressRange", cuMemGetAddressRange_v2)(&base, &bytes, memory + 100));
    std::printf("from %zu, %zu bytes\n", static_cast<std::size_t>(memory - base), bytes);
}

int one_block() {
    CUdeviceptr memory = 0;
    show("alloc", allocate(&memory, 3 * mib + 5));
    std::printf("aligned %d works %d\n", memory % 256 == 0, works(memory, 3 * mib + 5));
    show_attributes(memory);
    show_attributes(memory + 4097);
    show_range(memory);
    show("free", release(memory));
    show("free again", release(memory));
    show("no bytes", allocate(&memory, 0));
    show("nowhere", allocate(nullptr, mib));
    return 0;
}

int frees() {
    const auto release_later = ASK("cuMemFreeAsync", cuMemFreeAsync);
    const auto allocate_later = ASK("cuMemAllocAsync", cuMemAllocAsync);
    CUstream stream = nullptr;
    must(ASK("cuStreamCreate", cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "stream");
    CUdeviceptr memory = 0;
    show("alloc", allocate(&memory, mib));
    show("free", release(memory));
    show("stream-ordered", allocate_later(&memory, mib, stream));
    show("free", release(memory));
    show("stream-ordered", allocate_later(&memory, mib, stream));
    show("free later", release_later(memory, stream));
    return 0;
}

/// A pool as programs use one: what it holds, how it is set, and what its memory is known by.
void use_pool(CUmemoryPool pool, CUstream stream, bool named) {
    const auto get = ASK("cuMemPoolGetAttribute", cuMemPoolGetAttribute);
    const auto set = ASK("cuMemPoolSetAttribute", cuMemPoolSetAttribute);
    const auto show_used = [&](const char* when) {
        cuuint64_t used = 0, high = 0, kept = 0;
        int reuse = -1;
        must(get(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used), "used");
        must(get(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &high), "high");
        must(get(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &kept), "threshold");
        must(get(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &reuse), "reuse");
        std::printf("%s: used %zu high %zu threshold %zu reuse %d\n", when, static_cast<std::size_t>(used),
                    static_cast<std::size_t>(high), static_cast<std::size_t>(kept), reuse);
    };
    cuuint64_t threshold = 5 * mib;
    int no = 0;
    show("set", set(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    show("set", set(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &no));
    show_used("before");
    CUdeviceptr memory[3] = {};
    for (CUdeviceptr& each : memory) {
        show("alloc",
             named ? ASK("cuMemAllocFromPoolAsync", cuMemAllocFromPoolAsync)(&each, 2 * mib, pool, stream)
                   : ASK("cuMemAllocAsync", cuMemAllocAsync)(&each, 2 * mib, stream));
        std::printf("works %d\n", works(each, 2 * mib));
    }
    show_attributes(memory[1]);
    CUmemoryPool from = nullptr;
    show("pool", ASK("cuPointerGetAttribute", cuPointerGetAttribute)(&from, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
                                                                     memory[1]));
    std::printf("as asked for %d\n", from == pool);
    show_used("while");
    threshold = 0;
    show("set", set(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    show("free later", ASK("cuMemFreeAsync", cuMemFreeAsync)(memory[0], stream));
    show("free", release(memory[1]));
    must(ASK("cuStreamSynchronize", cuStreamSynchronize)(stream), "wait");
    show("trim", ASK("cuMemPoolTrimTo", cuMemPoolTrimTo)(pool, 0));
    show_used("after");
    show("free later", ASK("cuMemFreeAsync", cuMemFreeAsync)(memory[2], stream));
}

int limited_pool() {
    CUstream stream = nullptr;
    CUmemoryPool limited = nullptr;
    must(ASK("cuStreamCreate", cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "stream");
    CUmemPoolProps wanted{};
    wanted.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    wanted.maxSize = 64 * mib;
    must(ASK("cuMemPoolCreate", cuMemPoolCreate)(&limited, &wanted), "pool with a limit");
    use_pool(limited, stream, true);
    return 0;
}

int pools() {
    CUstream stream = nullptr;
    CUmemoryPool by_default = nullptr, own = nullptr;
    must(ASK("cuStreamCreate", cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "stream");
    must(ASK("cuDeviceGetDefaultMemPool", cuDeviceGetDefaultMemPool)(&by_default, 0), "default pool");
    use_pool(by_default, stream, false);
    use_pool(by_default, nullptr, true);
    CUmemPoolProps wanted{};
    wanted.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    must(ASK("cuMemPoolCreate", cuMemPoolCreate)(&own, &wanted), "own pool");
    use_pool(own, stream, true);
    show("current", ASK("cuDeviceSetMemPool", cuDeviceSetMemPool)(0, own));
    show("destroy", ASK("cuMemPoolDestroy", cuMemPoolDestroy)(own));
    limited_pool();
    show("reset", ASK("cuDevicePrimaryCtxReset", cuDevicePrimaryCtxReset_v2)(0));
    return 0;
}

int rows() {
    for (const unsigned element : {4u, 8u, 16u})
        for (const std::size_t width : {1u, 512u, 513u, 4000u}) {
            CUdeviceptr memory = 0;
            std::size_t pitch = 0;
            show("rows", ASK("cuMemAllocPitch", cuMemAllocPitch_v2)(&memory, &pitch, width, 100, element));
            std::printf("pitch %zu works %d\n", pitch, works(memory, pitch * 100));
            show_range(memory);
            show("free", release(memory));
        }
    CUdeviceptr memory = 0;
    std::size_t pitch = 0;
    show("no rows", ASK("cuMemAllocPitch", cuMemAllocPitch_v2)(&memory, &pitch, 100, 0, 4));
    return 0;
}

/// How free memory falls, and comes back.
int info() {
    const auto ask_free = [] {
        std::size_t free = 0, total = 0;
        must(ASK("cuMemGetInfo", cuMemGetInfo_v2)(&free, &total), "info");
        return free;
    };
    const std::size_t before = ask_free();
    std::vector<CUdeviceptr> all(4);
    for (CUdeviceptr& memory : all) {
        must(allocate(&memory, 2 * mib), "alloc");
        std::printf("%zu MiB less\n", (before - ask_free()) / mib);
    }
    for (const CUdeviceptr memory : all)
        must(release(memory), "free");
    std::printf("%zu MiB less\n", (before - ask_free()) / mib);
    return 0;
}

/// Up to `count` blocks of `size` MiB, `ordered` by the default stream or not, until there is no more; then
/// uses them all.
int fill(std::size_t count, std::size_t size, bool ordered) {
    std::vector<CUdeviceptr> all;
    CUresult answer = CUDA_SUCCESS;
    while (all.size() < count && answer == CUDA_SUCCESS) {
        CUdeviceptr memory = 0;
        answer = ordered ? ASK("cuMemAllocAsync", cuMemAllocAsync)(&memory, size * mib, nullptr)
                         : allocate(&memory, size * mib);
        if (answer == CUDA_SUCCESS)
            all.push_back(memory);
    }
    bool right = true;
    for (int round = 0; round < 2; ++round)
        for (const CUdeviceptr memory : all)
            right = works(memory, size * mib) && right;
    std::printf("%zu blocks, then %d, right %d\n", all.size(), static_cast<int>(answer), right);
    std::size_t free = 0, total = 0;
    must(ASK("cuMemGetInfo", cuMemGetInfo_v2)(&free, &total), "info");
    std::printf("free %zu MiB\n", free / mib);
    for (const CUdeviceptr memory : all)
        must(release(memory), "free");
    return 0;
}

/// Memory that is allocated while a stream captures, and after.
int capture() {
    CUstream stream = nullptr;
    CUgraph graph = nullptr;
    CUdeviceptr memory = 0;
    must(ASK("cuStreamCreate", cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "stream");
    must(ASK("cuStreamBeginCapture", cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "begin");
    show("alloc while capturing", allocate(&memory, mib));
    show("end", ASK("cuStreamEndCapture", cuStreamEndCapture)(stream, &graph));
    show("free", release(memory));
    show("alloc", allocate(&memory, mib));
    show("free", release(memory));
    return 0;
}

/// Memory of graphs, as much as the card has, one after the other.
int graphs(std::size_t count, std::size_t size) {
    CUstream stream = nullptr;
    must(ASK("cuStreamCreate", cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "stream");
    for (std::size_t i = 0; i < count; ++i) {
        CUgraph graph = nullptr;
        CUgraphExec exec = nullptr;
        CUdeviceptr memory = 0;
        must(ASK("cuStreamBeginCapture", cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_RELAXED),
             "begin");
        must(ASK("cuMemAllocAsync", cuMemAllocAsync)(&memory, size * mib, stream), "alloc");
        must(ASK("cuMemFreeAsync", cuMemFreeAsync)(memory, stream), "free");
        must(ASK("cuStreamEndCapture", cuStreamEndCapture)(stream, &graph), "end");
        must(ASK("cuGraphInstantiateWithFlags", cuGraphInstantiateWithFlags)(&exec, graph, 0), "instantiate");
        must(ASK("cuGraphLaunch", cuGraphLaunch)(exec, stream), "launch");
        must(ASK("cuStreamSynchronize", cuStreamSynchronize)(stream), "wait");
        must(ASK("cuGraphExecDestroy", cuGraphExecDestroy)(exec), "destroy");
        must(ASK("cuGraphDestroy", cuGraphDestroy)(graph), "destroy");
    }
    return fill(1, size, false);
}

/// Rows beside `count` blocks of `size` MiB.
int rows_beside(std::size_t count, std::size_t size) {
    CUdeviceptr memory = 0;
    std::size_t pitch = 0;
    for (std::size_t i = 0; i < count; ++i)
        must(allocate(&memory, size * mib), "alloc");
    show("rows", ASK("cuMemAllocPitch", cuMemAllocPitch_v2)(&memory, &pitch, 40'000, 100, 4));
    std::printf("pitch %zu works %d\n", pitch, works(memory, pitch * 100));
    return 0;
}

/// Large blocks, then small ones that push them out.
int crowd(std::size_t large, std::size_t small) {
    CUdeviceptr memory = 0;
    for (std::size_t i = 0; i < large; ++i)
        must(allocate(&memory, 8 * mib), "large");
    for (std::size_t i = 0; i < small; ++i)
        must(allocate(&memory, mib), "small");
    return 0;
}

/// Large blocks, then pieces of memory mapped to addresses.
int crowd_mapped(std::size_t large, std::size_t pieces) {
    constexpr std::size_t piece = 2 * mib;
    CUmemAllocationProp wanted{};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUdeviceptr memory = 0, addresses = 0;
    for (std::size_t i = 0; i < large; ++i)
        must(allocate(&memory, 8 * mib), "large");
    must(ASK("cuMemAddressReserve", cuMemAddressReserve)(&addresses, pieces * piece, 0, 0, 0), "addresses");
    for (std::size_t i = 0; i < pieces; ++i) {
        CUmemGenericAllocationHandle handle = 0;
        must(ASK("cuMemCreate", cuMemCreate)(&handle, piece, &wanted, 0), "create");
        must(ASK("cuMemMap", cuMemMap)(addresses + i * piece, piece, 0, handle, 0), "map");
    }
    return 0;
}

int share() {
    CUdeviceptr first = 0, second = 0;
    CUipcMemHandle handle;
    must(allocate(&first, mib), "alloc");
    show("share", ASK("cuIpcGetMemHandle", cuIpcGetMemHandle)(&handle, first));
    must(allocate(&second, mib), "alloc");
    show("share another", ASK("cuIpcGetMemHandle", cuIpcGetMemHandle)(&handle, second));
    return 0;
}

/// One block for others, and one of our own.
int share_one() {
    CUdeviceptr shared = 0, own = 0;
    CUipcMemHandle handle;
    show("alloc", allocate(&shared, mib));
    show("share", ASK("cuIpcGetMemHandle", cuIpcGetMemHandle)(&handle, shared));
    show("alloc", allocate(&own, mib));
    std::printf("works %d %d\n", works(shared, mib), works(own, mib));
    return 0;
}

/// By a library of that name, and by ourselves.
int through(const std::string& library) {
    void* const plugin = dlopen(library.c_str(), RTLD_NOW);
    if (plugin == nullptr)
        return 3;
    const auto allocate_there =
        reinterpret_cast<CUresult (*)(decltype(&cuMemAlloc_v2), CUdeviceptr*, std::size_t)>(
            dlsym(plugin, "allocate_there"));
    const auto is_managed_there = reinterpret_cast<int (*)(decltype(&cuPointerGetAttribute), CUdeviceptr)>(
        dlsym(plugin, "is_managed_there"));
    CUdeviceptr ours = 0, theirs = 0;
    show("ours", allocate(&ours, mib));
    show("theirs", allocate_there(allocate, &theirs, mib));
    show_attributes(ours);
    std::printf("there: %d %d\n", is_managed_there(ASK("cuPointerGetAttribute", cuPointerGetAttribute), ours),
                is_managed_there(ASK("cuPointerGetAttribute", cuPointerGetAttribute), theirs));
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    const std::string_view what = argc > 1 ? argv[1] : "";
    CUcontext context = nullptr;
    must(ASK("cuInit", cuInit)(0), "init");
    must(ASK("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain)(&context, 0), "context");
    must(ASK("cuCtxSetCurrent", cuCtxSetCurrent)(context), "current");
    if (what == "fill" && argc > 3)
        return fill(std::strtoul(argv[2], nullptr, 10), std::strtoul(argv[3], nullptr, 10), argc > 4);
    if (what == "graphs" && argc > 3)
        return graphs(std::strtoul(argv[2], nullptr, 10), std::strtoul(argv[3], nullptr, 10));
    if (what == "rows_beside" && argc > 3)
        return rows_beside(std::strtoul(argv[2], nullptr, 10), std::strtoul(argv[3], nullptr, 10));
    if (what == "crowd" && argc > 3)
        return crowd(std::strtoul(argv[2], nullptr, 10), std::strtoul(argv[3], nullptr, 10));
    if (what == "crowd_mapped" && argc > 3)
        return crowd_mapped(std::strtoul(argv[2], nullptr, 10), std::strtoul(argv[3], nullptr, 10));
    if (what == "through" && argc > 2)
        return through(argv[2]);
    for (const auto& [name, scenario] : {std::pair{"one_block", &one_block},
                                         {"frees", &frees},
                                         {"limited_pool", &limited_pool},
                                         {"pools", &pools},
                                         {"rows", &rows},
                                         {"info", &info},
                                         {"capture", &capture},
                                         {"share", &share},
                                         {"share_one", &share_one}})
        if (what == name)
            return scenario();
    return 2;
}
