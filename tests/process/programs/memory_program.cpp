// Memory beyond plain allocation, one scenario a run: each prints the driver's answers and what it finds in the
// memory, so an answer that is not the driver's own shows.
#include "memory.hpp"

#include <string_view>
#include <thread>
#include <vector>

namespace {

/// As PyTorch's expandable segments do: much address space, memory piece by piece, unmapped and mapped anew.
int expandable() {
    make_context();
    const CUfunction function = load_count_up();
    CUdeviceptr base = 0, other = 0;
    CALL("cuMemAddressReserve", cuMemAddressReserve, &base, 64 * piece, 0, 0, 0);
    CALL("cuMemAddressReserve", cuMemAddressReserve, &other, 64 * piece, 0, 0, 0);
    std::vector<CUmemGenericAllocationHandle> handles;
    for (std::size_t i = 0; i < 4; ++i)
        handles.push_back(map_piece(base + i * piece, on_device(0)));
    fill(base + piece + 64, 41);
    launch(function, base + piece + 64);
    show(base + piece + 64);
    // Memory of two pieces is one address range to the program.
    CALL("cuMemsetD8", cuMemsetD8_v2, base + piece - 8, 0, 8);
    CALL("cuMemUnmap", cuMemUnmap, base + piece, piece); // and its memory elsewhere
    CALL("cuMemMap", cuMemMap, other, piece, 0, handles[1], 0);
    const CUmemAccessDesc access{on_device(0), CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CALL("cuMemSetAccess", cuMemSetAccess, other, piece, &access, 1);
    launch(function, other + 64);
    show(other + 64);
    show(base + piece + 64);                         // refused: nothing is mapped there
    CALL("cuMemUnmap", cuMemUnmap, base, 4 * piece); // refused: there is a hole
    CALL("cuMemUnmap", cuMemUnmap, base + 2 * piece, 2 * piece);
    CALL("cuMemUnmap", cuMemUnmap, base, piece);
    CALL("cuMemUnmap", cuMemUnmap, other, piece);
    for (const auto handle : handles)
        CALL("cuMemRelease", cuMemRelease, handle);
    CALL("cuMemRelease", cuMemRelease, handles[0]);
    CALL("cuMemAddressFree", cuMemAddressFree, base, 64 * piece);
    CALL("cuMemAddressFree", cuMemAddressFree, other, 64 * piece);
    // Memory on the host, that a device may use and the host may touch.
    CALL("cuMemAddressReserve", cuMemAddressReserve, &base, piece, 0, 0, 0);
    const auto handle = map_piece(base, {CU_MEM_LOCATION_TYPE_HOST_NUMA, {0}});
    CALL("cuMemSetAccess", cuMemSetAccess, base, piece, &access, 1);
    *reinterpret_cast<volatile float*>(base) = 6;
    launch(function, base);
    show(base);
    int file = -1;
    CUmemGenericAllocationHandle imported = 0, retained = 0;
    CALL("cuMemExportToShareableHandle", cuMemExportToShareableHandle, &file, handle,
         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    CALL("cuMemImportFromShareableHandle", cuMemImportFromShareableHandle, &imported,
         reinterpret_cast<void*>(static_cast<std::intptr_t>(file)), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CALL("cuMemRetainAllocationHandle", cuMemRetainAllocationHandle, &retained, reinterpret_cast<void*>(base));
    std::printf("same handle %d\n", retained == handle);
    return 0;
}

/// Contexts and devices that give the same address out again.
/// `invalid`: also a handle that was never one, which simcuda refuses and NVIDIA's driver follows into nowhere.
int contexts(int devices, bool invalid) {
    const CUcontext primary = make_context();
    CALL("cuDevicePrimaryCtxSetFlags", cuDevicePrimaryCtxSetFlags_v2, 0, CU_CTX_SCHED_BLOCKING_SYNC);
    for (int i = 0; i < 4; ++i) {
        CUcontext made = nullptr, popped = nullptr;
        CUdeviceptr first = 0, second = 0;
        void* pinned = nullptr;
        CALL("cuCtxCreate", cuCtxCreate_v4, &made, nullptr, 0, i % devices);
        CALL("cuMemAlloc", cuMemAlloc_v2, &first, 1 << 20);
        CALL("cuMemAlloc", cuMemAlloc_v2, &second, 3 << 20);
        CALL("cuMemHostAlloc", cuMemHostAlloc, &pinned, 4096, 0);
        fill(first, 5);
        CALL("cuCtxPopCurrent", cuCtxPopCurrent_v2, &popped);
        std::printf("popped it %d\n", popped == made);
        for (int again = 0; again < 3; ++again) { // costs a comparison each
            CALL("cuCtxSetCurrent", cuCtxSetCurrent, primary);
            CALL("cuCtxPushCurrent", cuCtxPushCurrent_v2, primary);
            CALL("cuCtxPopCurrent", cuCtxPopCurrent_v2, &popped);
        }
        CALL("cuCtxDestroy", cuCtxDestroy_v2, made); // with what it holds
        CUdeviceptr same = 0;
        CALL("cuMemAlloc", cuMemAlloc_v2, &same, 2 << 20);
        std::printf("same address %d\n", same == first);
        fill(same, 1);
        show(same);
        CALL("cuMemFree", cuMemFree_v2, same);
    }
    if (invalid)
        CALL("cuCtxSetCurrent", cuCtxSetCurrent, reinterpret_cast<CUcontext>(0x40));
    CUdeviceptr last = 0, ordered = 0;
    CALL("cuMemAlloc", cuMemAlloc_v2, &last, 1 << 20);
    CALL("cuMemAllocAsync", cuMemAllocAsync, &ordered, 1 << 20, nullptr);
    CALL("cuDevicePrimaryCtxReset", cuDevicePrimaryCtxReset_v2, 0);
    make_context();
    CUdeviceptr fresh = 0;
    CALL("cuMemAlloc", cuMemAlloc_v2, &fresh, 1 << 20);
    std::printf("same address %d\n", fresh == last);
    CALL("cuMemFree", cuMemFree_v2, fresh);
    return 0;
}

/// Contexts that come and go in several threads at once, so that handles and addresses pass from one to
/// another.
int storm(int rounds) {
    make_context();
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i)
        threads.emplace_back([rounds] {
            for (int round = 0; round < rounds; ++round) {
                CUcontext made = nullptr;
                CUdeviceptr memory = 0;
                must(ASK("cuCtxCreate", cuCtxCreate_v4)(&made, nullptr, 0, 0), "create");
                for (std::size_t pages = 1; pages <= 3; ++pages)
                    must(ASK("cuMemAlloc", cuMemAlloc_v2)(&memory, pages * 4096), "allocate");
                must(ASK("cuCtxDestroy", cuCtxDestroy_v2)(made), "destroy");
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    std::puts("over");
    return 0;
}

/// Memory of the other device, by its own context and from a pool, and access between the two.
int two_devices() {
    const CUcontext first = make_context();
    CUcontext second = nullptr;
    CALL("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain, &second, 1);
    CUdeviceptr here = 0, there = 0, pooled = 0, mapped = 0;
    CALL("cuMemAlloc", cuMemAlloc_v2, &here, 1 << 20);
    CALL("cuCtxPushCurrent", cuCtxPushCurrent_v2, second);
    CALL("cuMemAlloc", cuMemAlloc_v2, &there, 2 << 20);
    CALL("cuCtxPopCurrent", cuCtxPopCurrent_v2, nullptr);
    CALL("cuCtxEnablePeerAccess", cuCtxEnablePeerAccess, second, 0);
    CALL("cuCtxEnablePeerAccess", cuCtxEnablePeerAccess, second, 0);
    CALL("cuMemcpyPeer", cuMemcpyPeer, there, second, here, first, 4096);
    CALL("cuCtxDisablePeerAccess", cuCtxDisablePeerAccess, second);
    CUmemoryPool pool = nullptr;
    CALL("cuDeviceGetDefaultMemPool", cuDeviceGetDefaultMemPool, &pool, 1);
    CALL("cuMemAllocFromPoolAsync", cuMemAllocFromPoolAsync, &pooled, 3 << 20, pool, nullptr);
    CALL("cuMemAddressReserve", cuMemAddressReserve, &mapped, piece, 0, 0, 0);
    map_piece(mapped, on_device(1));
    CALL("cuMemFreeAsync", cuMemFreeAsync, pooled, nullptr);
    return 0;
}

/// Threads that come with no context, work in one, and go.
int workers() {
    const CUcontext context = make_context();
    for (int i = 0; i < 8; ++i)
        std::thread([context, i] {
            CUdeviceptr made = 0;
            CALL("cuMemAlloc", cuMemAlloc_v2, &made, 4096);
            if (i % 2 != 0)
                CALL("cuCtxSetCurrent", cuCtxSetCurrent, context);
            CALL("cuMemAlloc", cuMemAlloc_v2, &made, 4096);
            CALL("cuMemFree", cuMemFree_v2, made);
            CALL("cuCtxSetCurrent", cuCtxSetCurrent, nullptr);
        }).join();
    return 0;
}

CUmemoryPool make_pool(CUmemAllocationType type, CUmemLocation location) {
    CUmemPoolProps wanted{};
    wanted.allocType = type;
    wanted.location = location;
    CUmemoryPool pool = nullptr;
    CALL("cuMemPoolCreate", cuMemPoolCreate, &pool, &wanted);
    return pool;
}

int pools() {
    make_context();
    const CUfunction function = load_count_up();
    CUstream stream = nullptr;
    CALL("cuStreamCreate", cuStreamCreate, &stream, CU_STREAM_DEFAULT);
    CUmemoryPool by_default = nullptr, managed_default = nullptr, current = nullptr;
    CUmemLocation device = on_device(0);
    CALL("cuDeviceGetDefaultMemPool", cuDeviceGetDefaultMemPool, &by_default, 0);
    for (int again = 0; again < 3; ++again)
        CALL("cuDeviceGetMemPool", cuDeviceGetMemPool, &current, 0);
    CALL("cuMemGetDefaultMemPool", cuMemGetDefaultMemPool, &managed_default, &device,
         CU_MEM_ALLOCATION_TYPE_MANAGED);
    std::printf("default is current %d, managed is another %d\n", by_default == current,
                managed_default != by_default);
    cuuint64_t keep = 64 << 20;
    CALL("cuMemPoolSetAttribute", cuMemPoolSetAttribute, by_default, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep);
    const CUmemoryPool mine = make_pool(CU_MEM_ALLOCATION_TYPE_PINNED, on_device(0));
    const CUmemoryPool on_host =
        make_pool(CU_MEM_ALLOCATION_TYPE_PINNED, {CU_MEM_LOCATION_TYPE_HOST_NUMA, {0}});
    CALL("cuDeviceSetMemPool", cuDeviceSetMemPool, 0, mine);
    const CUmemAccessDesc access{device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CALL("cuMemPoolSetAccess", cuMemPoolSetAccess, mine, &access, 1);
    const CUmemoryPool all[] = {by_default, mine, on_host, managed_default};
    for (const CUmemoryPool pool : all) {
        CUdeviceptr made = 0;
        float value = 3;
        CALL("cuMemAllocFromPoolAsync", cuMemAllocFromPoolAsync, &made, 1 << 20, pool, stream);
        CALL("cuMemcpyHtoDAsync", cuMemcpyHtoDAsync_v2, made, &value, sizeof value, stream);
        launch(function, made);
        show(made);
        CALL("cuMemFreeAsync", cuMemFreeAsync, made, stream);
    }
    CALL("cuMemPoolTrimTo", cuMemPoolTrimTo, mine, 0);
    CUdeviceptr unknown = 0;
    CALL("cuMemPoolDestroy", cuMemPoolDestroy, mine);
    CALL("cuMemAllocFromPoolAsync", cuMemAllocFromPoolAsync, &unknown, 4096, mine, stream);
    return 0;
}

int green() {
    make_context();
    CUdevResource all{};
    CUdevResourceDesc description = nullptr;
    CUgreenCtx made = nullptr;
    CUcontext context = nullptr;
    CUstream stream = nullptr;
    CUevent event = nullptr;
    CALL("cuDeviceGetDevResource", cuDeviceGetDevResource, 0, &all, CU_DEV_RESOURCE_TYPE_SM);
    CALL("cuDevResourceGenerateDesc", cuDevResourceGenerateDesc, &description, &all, 1);
    CALL("cuGreenCtxCreate", cuGreenCtxCreate, &made, description, 0, CU_GREEN_CTX_DEFAULT_STREAM);
    CALL("cuGreenCtxStreamCreate", cuGreenCtxStreamCreate, &stream, made, CU_STREAM_NON_BLOCKING, 0);
    CALL("cuCtxFromGreenCtx", cuCtxFromGreenCtx, &context, made);
    CALL("cuCtxPushCurrent", cuCtxPushCurrent_v2, context);
    CUdeviceptr memory = 0;
    CALL("cuMemAlloc", cuMemAlloc_v2, &memory, 4096);
    CALL("cuMemsetD8Async", cuMemsetD8Async, memory, 1, 4096, stream);
    CALL("cuEventCreate", cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
    CALL("cuGreenCtxRecordEvent", cuGreenCtxRecordEvent, made, event);
    CALL("cuCtxWaitEvent", cuCtxWaitEvent, context, event);
    CALL("cuCtxPopCurrent", cuCtxPopCurrent_v2, nullptr);
    CALL("cuGreenCtxDestroy", cuGreenCtxDestroy, made);
    CALL("cuMemsetD8", cuMemsetD8_v2, memory, 2, 4096); // it is the device's, not the green context's
    CALL("cuDevicePrimaryCtxReset", cuDevicePrimaryCtxReset_v2, 0);
    return 0;
}

int host_functions() {
    make_context();
    CUdeviceptr flag = 0;
    CUstream stream = nullptr;
    int called = 0;
    CALL("cuMemAlloc", cuMemAlloc_v2, &flag, 4096);
    CALL("cuStreamCreate", cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
    CALL(
        "cuLaunchHostFunc", cuLaunchHostFunc, stream, [](void* count) { ++*static_cast<int*>(count); },
        &called);
    CALL(
        "cuStreamAddCallback", cuStreamAddCallback, stream,
        [](CUstream, CUresult, void* count) { ++*static_cast<int*>(count); }, &called, 0);
    CALL("cuStreamWriteValue32", cuStreamWriteValue32_v2, stream, flag, 7, 0);
    CALL("cuStreamWaitValue32", cuStreamWaitValue32_v2, stream, flag, 7, CU_STREAM_WAIT_VALUE_GEQ);
    CUstreamBatchMemOpParams operations[1]{};
    operations[0].writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_64, flag + 8, {9}, 0, 0};
    CALL("cuStreamBatchMemOp", cuStreamBatchMemOp_v2, stream, 1, operations, 0);
    CALL("cuStreamSynchronize", cuStreamSynchronize, stream);
    std::uint32_t words[4] = {};
    CALL("cuMemcpyDtoH", cuMemcpyDtoH_v2, words, flag, sizeof words);
    std::printf("called %d, wrote %u %u\n", called, words[0], words[2]);
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    const std::string_view scenario = argc > 1 ? argv[1] : "";
    if (scenario == "expandable")
        return expandable();
    if (scenario == "contexts")
        return contexts(1, true);
    if (scenario == "contexts-2")
        return contexts(2, true);
    if (scenario == "contexts-valid")
        return contexts(1, false);
    if (scenario == "storm")
        return storm(argc > 2 ? std::atoi(argv[2]) : 60);
    if (scenario == "devices")
        return two_devices();
    if (scenario == "workers")
        return workers();
    if (scenario == "pools")
        return pools();
    if (scenario == "pools-of-one-handle")
        return pools_of_one_handle();
    if (scenario == "ipc")
        return ipc(argc > 2);
    if (scenario == "external")
        return external();
    if (scenario == "green")
        return green();
    if (scenario == "host-functions")
        return host_functions();
    return 2;
}
