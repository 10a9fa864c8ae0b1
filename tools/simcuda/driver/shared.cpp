// Memory and events shared between processes (CUDA driver API, cuIpc*), and memory of other APIs.
#include "tools/simcuda/driver/shared.hpp"
#include "tools/simcuda/driver/pool.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <string>
#include <tuple>
#include <unordered_set>

struct CUextMemory_st {
    int file = -1;
    std::uint64_t bytes = 0;
};

namespace simcuda {

namespace {

constexpr char magic[8] = "simcuda";
constexpr std::uint64_t page = 4096;

/// An opened handle is counted: opening it again answers the same address.
struct Opened {
    std::uint64_t mapped = 0, bytes = 0;
    unsigned count = 0;
};
using Source = std::tuple<int, std::uint64_t>; ///< process and offset
struct Sharing {
    std::map<Source, std::uint64_t> open;
    std::map<std::uint64_t, Opened> by_address;
    std::unordered_set<CUexternalMemory> external;
};

Sharing& sharing() {
    static auto* only = new Sharing;
    return *only;
}

/// Maps a part of a file behind free addresses of the device; 0 without memory.
std::uint64_t map_range(int file, std::uint64_t first, std::uint64_t last) {
    Driver& state = driver();
    const std::uint64_t at = state.device_addresses->take(last - first, 2 << 20);
    if (at != 0 && !state.arena.map_file(at, last - first, file, first)) {
        state.device_addresses->give(at, last - first);
        return 0;
    }
    return at;
}

void enter_allocation(std::uint64_t address, std::uint64_t bytes, int device, Made made) {
    Driver& state = driver();
    state.allocations.emplace(address, Allocation{address, bytes, device_memory, device, 0, false, ++state.ids,
                                                  current_context(), made});
}

} // namespace

CUresult describe_shared(const Allocation& allocation, SharedRange& out) {
    const Arena& arena = driver().arena;
    std::memcpy(out.magic, magic, sizeof magic);
    out.process = getpid();
    out.file = arena.file();
    out.offset = arena.offset_of(allocation.address);
    out.bytes = allocation.bytes;
    out.device = allocation.device;
    return CUDA_SUCCESS;
}

CUresult open_shared(const SharedRange& range, Made made, CUdeviceptr* out) {
    if (std::memcmp(range.magic, magic, sizeof magic) != 0 || !out) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    // The real driver refuses a handle in the process that made it ("invalid device context").
    if (range.process == getpid()) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    const Source source{range.process, range.offset};
    if (const auto known = sharing().open.find(source); known != sharing().open.end()) {
        *out = known->second;
        ++sharing().by_address[known->second].count;
        return CUDA_SUCCESS;
    }
    const std::string path = "/proc/" + std::to_string(range.process) + "/fd/" + std::to_string(range.file);
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const std::uint64_t first = range.offset / page * page;
    const std::uint64_t last = (range.offset + range.bytes + page - 1) / page * page;
    const std::uint64_t at = map_range(file, first, last);
    close(file);
    if (at == 0) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = at + (range.offset - first);
    enter_allocation(*out, range.bytes, range.device, made);
    if (made == Made::opened) {
        sharing().open[source] = *out;
        sharing().by_address[*out] = {at, last - first, 1};
    }
    return CUDA_SUCCESS;
}

void close_shared(std::uint64_t address) {
    Driver& state = driver();
    const Opened opened = sharing().by_address.at(address);
    state.arena.unmap_file(opened.mapped, opened.bytes);
    state.device_addresses->give(opened.mapped, opened.bytes);
    state.allocations.erase(address);
    state.epoch.fetch_add(1);
    std::erase_if(sharing().open, [address](const auto& entry) { return entry.second == address; });
    sharing().by_address.erase(address);
}

} // namespace simcuda

using namespace simcuda;

namespace {

CUresult open_handle(CUdeviceptr* out, const CUipcMemHandle& handle, unsigned flags) {
    if (flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Guard guard(driver().mutex);
    return open_shared(handle, Made::opened, out);
}

} // namespace

extern "C" CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle* out, CUdeviceptr address) {
    SIMCUDA_ENTER(Entry::cuIpcGetMemHandle)
    const Guard guard(driver().mutex);
    const Allocation* found = driver().find(address);
    // Only what cuMemAlloc made (CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE).
    if (!out || !found || found->memory != device_memory || found->pooled || found->made != Made::plain) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return share(*found, *out);
}

extern "C" CUresult CUDAAPI cuIpcOpenMemHandle(CUdeviceptr* out, CUipcMemHandle handle, unsigned flags) {
    SIMCUDA_ENTER(Entry::cuIpcOpenMemHandle)
    return open_handle(out, handle, flags);
}

extern "C" CUresult CUDAAPI cuIpcOpenMemHandle_v2(CUdeviceptr* out, CUipcMemHandle handle, unsigned flags) {
    SIMCUDA_ENTER(Entry::cuIpcOpenMemHandle_v2)
    return open_handle(out, handle, flags);
}

extern "C" CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr address) {
    SIMCUDA_ENTER(Entry::cuIpcCloseMemHandle)
    const Guard guard(driver().mutex);
    const auto found = sharing().by_address.find(address);
    if (found == sharing().by_address.end()) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (--found->second.count == 0) {
        close_shared(address);
    }
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuIpcGetEventHandle(CUipcEventHandle* out, CUevent event) {
    SIMCUDA_ENTER(Entry::cuIpcGetEventHandle)
    const Guard guard(driver().mutex);
    constexpr unsigned wanted = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
    if (!out || !driver().events.contains(event) || (event->flags & wanted) != wanted) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    std::memset(out, 0, sizeof *out);
    const SharedRange name{"simcuda", getpid(), -1, reinterpret_cast<std::uint64_t>(event), 0, 0};
    std::memcpy(out->reserved, &name, sizeof name);
    return CUDA_SUCCESS;
}

/// The other process's virtual clock is not ours: an opened event is always done.
extern "C" CUresult CUDAAPI cuIpcOpenEventHandle(CUevent* out, CUipcEventHandle handle) {
    SIMCUDA_ENTER(Entry::cuIpcOpenEventHandle)
    SharedRange name{};
    std::memcpy(&name, handle.reserved, sizeof name);
    if (!out || std::memcmp(name.magic, "simcuda", sizeof name.magic) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (name.process == getpid()) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    const Guard guard(driver().mutex);
    auto* made = new CUevent_st;
    made->context = current_context();
    made->flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
    driver().events.insert(made);
    *out = made;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuImportExternalMemory(CUexternalMemory* out,
                                                   const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* from) {
    SIMCUDA_ENTER(Entry::cuImportExternalMemory)
    struct stat there {};
    if (!out || !from || from->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD || from->size == 0 ||
        fstat(from->handle.fd, &there) != 0 || from->size > static_cast<std::uint64_t>(there.st_size)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    // "Importing takes ownership of the file descriptor."
    const Guard guard(driver().mutex);
    *out = new CUextMemory_st{from->handle.fd, from->size};
    sharing().external.insert(*out);
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuExternalMemoryGetMappedBuffer(CUdeviceptr* out, CUexternalMemory memory,
                                                            const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* wanted) {
    SIMCUDA_ENTER(Entry::cuExternalMemoryGetMappedBuffer)
    const Guard guard(driver().mutex);
    if (!out || !wanted || !sharing().external.contains(memory) || wanted->size == 0 ||
        wanted->offset % page != 0 || wanted->size % page != 0 ||
        wanted->offset + wanted->size > memory->bytes) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *out = map_range(memory->file, wanted->offset, wanted->offset + wanted->size);
    if (*out == 0) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    enter_allocation(*out, wanted->size, current_context()->device, Made::external);
    return CUDA_SUCCESS;
}

/// Mapped buffers live on until cuMemFree.
extern "C" CUresult CUDAAPI cuDestroyExternalMemory(CUexternalMemory memory) {
    SIMCUDA_ENTER(Entry::cuDestroyExternalMemory)
    const Guard guard(driver().mutex);
    if (sharing().external.erase(memory) == 0) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    close(memory->file);
    delete memory;
    return CUDA_SUCCESS;
}
