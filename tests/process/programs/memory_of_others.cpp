// Memory that another process or another API has made.
#include "memory.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

/// What one process tells the other through a pipe.
template <class Value>
void tell(int pipe, const Value& value) {
    if (write(pipe, &value, sizeof value) != sizeof value)
        std::exit(4);
}
template <class Value>
Value hear(int pipe) {
    Value value{};
    if (read(pipe, &value, sizeof value) != sizeof value)
        std::exit(4);
    return value;
}

CUmemoryPool import_pool(int from) {
    CUmemoryPool pool = nullptr;
    CUdeviceptr opened = 0;
    CALL("cuMemPoolImportFromShareableHandle", cuMemPoolImportFromShareableHandle, &pool, nullptr,
         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    auto pointer = hear<CUmemPoolPtrExportData>(from);
    CALL("cuMemPoolImportPointer", cuMemPoolImportPointer, &opened, pool, &pointer);
    show(opened);
    CALL("cuMemFreeAsync", cuMemFreeAsync, opened, nullptr);
    return pool;
}

void export_pool(int to) {
    CUmemoryPool pool = nullptr;
    CUdeviceptr pooled = 0;
    CUmemPoolPtrExportData pointer{};
    must(ASK("cuDeviceGetDefaultMemPool", cuDeviceGetDefaultMemPool)(&pool, 0), "pool");
    must(ASK("cuMemAllocFromPoolAsync", cuMemAllocFromPoolAsync)(&pooled, 4096, pool, nullptr), "from pool");
    fill(pooled, 21);
    must(ASK("cuMemPoolExportPointer", cuMemPoolExportPointer)(&pointer, pooled), "pointer");
    tell(to, pointer);
}

void import_from(int from, int back, bool pools) {
    make_context();
    const auto handle = hear<CUipcMemHandle>(from);
    const auto event_handle = hear<CUipcEventHandle>(from);
    CUdeviceptr opened = 0, again = 0;
    CUevent event = nullptr;
    CALL("cuIpcOpenMemHandle", cuIpcOpenMemHandle_v2, &opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    CALL("cuIpcOpenEventHandle", cuIpcOpenEventHandle, &event, event_handle);
    show(opened);
    fill(opened, 12);
    CALL("cuIpcOpenMemHandle", cuIpcOpenMemHandle_v2, &again, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    std::printf("same address %d\n", again == opened);
    CALL("cuMemFree", cuMemFree_v2, opened); // refused: not allocated here
    CALL("cuIpcCloseMemHandle", cuIpcCloseMemHandle, opened);
    CALL("cuIpcCloseMemHandle", cuIpcCloseMemHandle, opened);
    CALL("cuIpcCloseMemHandle", cuIpcCloseMemHandle, opened);
    if (pools)
        import_pool(from);
    tell(back, 1);
    std::fflush(stdout);
}

} // namespace

/// A reset takes a managed pool along, whose handle the pool of another process gets.
int pools_of_one_handle() {
    int there[2];
    if (pipe(there) != 0)
        return 4;
    std::fflush(stdout);
    const pid_t child = fork();
    if (child != 0) {
        make_context();
        export_pool(there[1]);
        int status = 0;
        waitpid(child, &status, 0);
        return status;
    }
    make_context();
    CUmemPoolProps wanted{};
    wanted.allocType = CU_MEM_ALLOCATION_TYPE_MANAGED;
    wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    CUmemoryPool pool = nullptr;
    CUdeviceptr made = 0;
    CALL("cuMemPoolCreate", cuMemPoolCreate, &pool, &wanted);
    CALL("cuMemAllocFromPoolAsync", cuMemAllocFromPoolAsync, &made, 4096, pool, nullptr);
    CALL("cuMemFreeAsync", cuMemFreeAsync, made, nullptr);
    CALL("cuDevicePrimaryCtxReset", cuDevicePrimaryCtxReset_v2, 0);
    make_context();
    std::printf("same handle %d\n", import_pool(there[0]) == pool);
    std::exit(0);
}

/// The child enters CUDA first of all, so both processes may.
int ipc(bool pools) {
    int there[2], back[2];
    if (pipe(there) != 0 || pipe(back) != 0)
        return 4;
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        close(there[1]); // so that a parent that fails is heard of
        import_from(there[0], back[1], pools);
        std::exit(0);
    }
    close(back[1]); // and a child
    make_context();
    CUdeviceptr mine = 0, opened = 0;
    CUevent event = nullptr;
    CUipcMemHandle handle{};
    CUipcEventHandle event_handle{};
    must(ASK("cuMemAlloc", cuMemAlloc_v2)(&mine, 1 << 20), "allocate");
    const float value = 11;
    must(ASK("cuMemcpyHtoD", cuMemcpyHtoD_v2)(mine, &value, sizeof value), "copy");
    must(ASK("cuEventCreate", cuEventCreate)(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING), "event");
    must(ASK("cuIpcGetMemHandle", cuIpcGetMemHandle)(&handle, mine), "handle");
    must(ASK("cuIpcGetEventHandle", cuIpcGetEventHandle)(&event_handle, event), "event handle");
    const CUresult own =
        ASK("cuIpcOpenMemHandle", cuIpcOpenMemHandle_v2)(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    tell(there[1], handle);
    tell(there[1], event_handle);
    if (pools)
        export_pool(there[1]);
    hear<int>(back[0]);
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("child %d, own handle %d\n", status, static_cast<int>(own));
    show(mine); // what the child wrote
    return 0;
}

int external() {
    make_context();
    const CUfunction function = load_count_up();
    const int file = memfd_create("external", 0);
    if (file < 0 || ftruncate(file, 1 << 20) != 0)
        return 4;
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC from{};
    from.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    from.handle.fd = file;
    from.size = 1 << 20;
    CUexternalMemory memory = nullptr;
    CALL("cuImportExternalMemory", cuImportExternalMemory, &memory, &from);
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC part{};
    part.offset = 65536;
    part.size = 65536;
    CUdeviceptr mapped = 0;
    CALL("cuExternalMemoryGetMappedBuffer", cuExternalMemoryGetMappedBuffer, &mapped, memory, &part);
    launch(function, mapped);
    show(mapped);
    CALL("cuDestroyExternalMemory", cuDestroyExternalMemory, memory);
    show(mapped);
    CALL("cuMemFree", cuMemFree_v2, mapped);
    return 0;
}
