// Virtual memory management (CUDA driver API, "Virtual Memory Management"): addresses, memory, and the one
// mapped to the other. Each piece of memory is a file of its own, mapped behind the addresses.
#include "tools/simcuda/driver/driver.hpp"
#include "tools/simcuda/driver/memory.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <memory>

using namespace simcuda;

namespace {

constexpr std::uint64_t granularity = 2ull << 20;

/// Lives as long as its handles and mappings do.
struct Physical {
    int file = -1;
    std::uint64_t bytes = 0;
    CUmemAllocationProp properties{};

    Physical(int of, std::uint64_t size, const CUmemAllocationProp& made)
        : file(of), bytes(size), properties(made) {
        take(bytes);
    }
    ~Physical() {
        close(file);
        take(0 - bytes);
    }
    Physical(const Physical&) = delete;
    Physical& operator=(const Physical&) = delete;

    bool on_device() const { return properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE; }
    void take(std::uint64_t change) const {
        if (on_device()) {
            driver().devices[static_cast<std::size_t>(properties.location.id)].allocated += change;
            publish_device_use(properties.location.id);
        }
    }
};

struct Handle {
    std::shared_ptr<Physical> memory;
    unsigned uses = 1;
};

struct Mapping {
    std::uint64_t bytes;
    CUmemGenericAllocationHandle handle;
    std::shared_ptr<Physical> memory;
    std::uint64_t offset;
    bool on_host = false; ///< the host may touch it
};

struct State {
    std::map<std::uint64_t, std::uint64_t> reserved; ///< address -> bytes
    std::map<std::uint64_t, Mapping> mappings;
    std::map<CUmemGenericAllocationHandle, Handle> handles;
    CUmemGenericAllocationHandle last_handle = 0;
};

State& vmm() {
    static auto* only = new State;
    return *only;
}

bool is_reserved(std::uint64_t address, std::uint64_t bytes) {
    auto after = vmm().reserved.upper_bound(address);
    if (after == vmm().reserved.begin()) {
        return false;
    }
    const auto& [first, size] = *std::prev(after);
    return address + bytes <= first + size;
}

/// Whether anything is mapped in the range.
bool is_mapped(std::uint64_t address, std::uint64_t bytes) {
    auto next = vmm().mappings.lower_bound(address);
    if (next != vmm().mappings.end() && next->first < address + bytes) {
        return true;
    }
    return next != vmm().mappings.begin() && std::prev(next)->first + std::prev(next)->second.bytes > address;
}

/// Calls `visit` for each mapping of the range. False, and no call, unless mappings fill it from end to end.
template <class Visit>
bool for_each_mapping(std::uint64_t address, std::uint64_t bytes, Visit visit) {
    auto& mappings = vmm().mappings;
    std::uint64_t reached = address;
    for (auto at = mappings.find(address); at != mappings.end() && at->first == reached; ++at) {
        reached += at->second.bytes;
        if (reached >= address + bytes) {
            break;
        }
    }
    if (reached != address + bytes || bytes == 0) {
        return false;
    }
    for (auto at = mappings.find(address); at != mappings.end() && at->first < reached;) {
        const auto current = at++; // `visit` may erase it
        visit(current->first, current->second);
    }
    return true;
}

bool is_valid(const CUmemAllocationProp& wanted) {
    const CUmemLocation& location = wanted.location;
    return wanted.type == CU_MEM_ALLOCATION_TYPE_PINNED &&
           (location.type == CU_MEM_LOCATION_TYPE_HOST || location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
            (location.type == CU_MEM_LOCATION_TYPE_DEVICE && location.id >= 0 &&
             location.id < static_cast<int>(driver().devices.size())));
}

CUmemGenericAllocationHandle enter_handle(std::shared_ptr<Physical> memory) {
    const CUmemGenericAllocationHandle handle = ++vmm().last_handle;
    vmm().handles[handle] = {std::move(memory)};
    return handle;
}

void set_access(std::uint64_t address, Mapping& mapping, const CUmemAccessDesc& access) {
    Driver& state = driver();
    const Physical& memory = *mapping.memory;
    if (access.location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
        mapping.on_host = state.arena.show_file(address, mapping.bytes, memory.file, mapping.offset);
    } else if (access.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) {
        state.allocations.erase(address);
    } else {
        const int device = memory.on_device() ? memory.properties.location.id : access.location.id;
        state.allocations.emplace(address, Allocation{address, mapping.bytes,
                                                      memory.on_device() ? device_memory : pinned, device, 0,
                                                      false, ++state.ids, nullptr, Made::mapped});
    }
    state.epoch.fetch_add(1);
}

} // namespace

extern "C" CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr* out, size_t bytes, size_t alignment, CUdeviceptr,
                                                unsigned long long flags) {
    SIMCUDA_ENTER(Entry::cuMemAddressReserve, Needs::initialization)
    const Guard guard(driver().mutex);
    if (!out || bytes == 0 || bytes % granularity != 0 || (alignment & (alignment - 1)) != 0 || flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    // The address asked for is a hint only.
    const std::uint64_t at =
        driver().device_addresses->take(bytes, std::max<std::uint64_t>(alignment, granularity));
    if (at == 0) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    vmm().reserved[at] = bytes;
    *out = at;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuMemAddressFree(CUdeviceptr address, size_t bytes) {
    SIMCUDA_ENTER(Entry::cuMemAddressFree, Needs::initialization)
    const Guard guard(driver().mutex);
    const auto found = vmm().reserved.find(address);
    if (found == vmm().reserved.end() || found->second != bytes || is_mapped(address, bytes)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    vmm().reserved.erase(found);
    driver().device_addresses->give(address, bytes);
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuMemGetAllocationGranularity(size_t* out, const CUmemAllocationProp* wanted,
                                                          CUmemAllocationGranularity_flags) {
    SIMCUDA_ENTER(Entry::cuMemGetAllocationGranularity, Needs::initialization)
    if (!out || !wanted) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *out = granularity;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle* out, size_t bytes,
                                        const CUmemAllocationProp* wanted, unsigned long long flags) {
    SIMCUDA_ENTER(Entry::cuMemCreate, Needs::initialization)
    Driver& state = driver();
    const Guard guard(state.mutex);
    if (!out || !wanted || flags != 0 || bytes == 0 || bytes % granularity != 0 || !is_valid(*wanted)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (wanted->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
        state.devices[static_cast<std::size_t>(wanted->location.id)].allocated + bytes >
            state.config.capacity) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    // The name tells whoever imports it where it is.
    char name[64];
    std::snprintf(name, sizeof name, "simcuda-%d-%d", static_cast<int>(wanted->location.type),
                  wanted->location.id);
    const int file = memfd_create(name, MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) {
        close(file);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = enter_handle(std::make_shared<Physical>(file, bytes, *wanted));
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle) {
    SIMCUDA_ENTER(Entry::cuMemRelease, Needs::initialization)
    const Guard guard(driver().mutex);
    const auto found = vmm().handles.find(handle);
    if (found == vmm().handles.end()) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (--found->second.uses == 0) {
        vmm().handles.erase(found); // mappings keep the memory
    }
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* out, void* at) {
    SIMCUDA_ENTER(Entry::cuMemRetainAllocationHandle, Needs::initialization)
    const Guard guard(driver().mutex);
    const auto address = reinterpret_cast<std::uint64_t>(at);
    for (const auto& [first, mapping] : vmm().mappings) {
        if (out && address - first < mapping.bytes) {
            Handle& handle = vmm().handles[mapping.handle];
            handle.uses = handle.memory ? handle.uses + 1 : 1;
            handle.memory = mapping.memory;
            *out = mapping.handle;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_VALUE;
}

extern "C" CUresult CUDAAPI cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* out,
                                                                   CUmemGenericAllocationHandle handle) {
    SIMCUDA_ENTER(Entry::cuMemGetAllocationPropertiesFromHandle, Needs::initialization)
    const Guard guard(driver().mutex);
    const auto found = vmm().handles.find(handle);
    if (!out || found == vmm().handles.end()) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *out = found->second.memory->properties;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                                     CUmemGenericAllocationHandle handle, unsigned long long flags) {
    SIMCUDA_ENTER(Entry::cuMemMap, Needs::initialization)
    const Guard guard(driver().mutex);
    const auto found = vmm().handles.find(handle);
    if (found == vmm().handles.end() || flags != 0 || bytes == 0 ||
        (address | bytes | offset) % granularity != 0 || offset + bytes > found->second.memory->bytes ||
        !is_reserved(address, bytes) || is_mapped(address, bytes)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!driver().arena.map_file(address, bytes, found->second.memory->file, offset)) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    // Nobody may touch it before cuMemSetAccess: until then it is no allocation.
    vmm().mappings[address] = {bytes, handle, found->second.memory, offset};
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuMemUnmap(CUdeviceptr address, size_t bytes) {
    SIMCUDA_ENTER(Entry::cuMemUnmap, Needs::initialization)
    Driver& state = driver();
    const Guard guard(state.mutex);
    const bool whole = for_each_mapping(address, bytes, [&state](std::uint64_t first, const Mapping& mapping) {
        state.arena.unmap_file(first, mapping.bytes);
        state.allocations.erase(first);
        vmm().mappings.erase(first);
    });
    state.epoch.fetch_add(1);
    return whole ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

extern "C" CUresult CUDAAPI cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* access,
                                           size_t count) {
    SIMCUDA_ENTER(Entry::cuMemSetAccess, Needs::initialization)
    const Guard guard(driver().mutex);
    if (!access || count == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const bool whole = for_each_mapping(address, bytes, [=](std::uint64_t first, Mapping& mapping) {
        for (std::size_t i = 0; i < count; ++i) {
            set_access(first, mapping, access[i]);
        }
    });
    return whole ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

extern "C" CUresult CUDAAPI cuMemGetAccess(unsigned long long* flags, const CUmemLocation*,
                                           CUdeviceptr address) {
    SIMCUDA_ENTER(Entry::cuMemGetAccess, Needs::initialization)
    const Guard guard(driver().mutex);
    *flags = driver().find(address) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuMemExportToShareableHandle(void* out, CUmemGenericAllocationHandle handle,
                                                         CUmemAllocationHandleType type, unsigned long long) {
    SIMCUDA_ENTER(Entry::cuMemExportToShareableHandle, Needs::initialization)
    const Guard guard(driver().mutex);
    const auto found = vmm().handles.find(handle);
    if (!out || found == vmm().handles.end() || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        found->second.memory->properties.requestedHandleTypes != type) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *static_cast<int*>(out) = dup(found->second.memory->file);
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* out, void* from,
                                                           CUmemAllocationHandleType type) {
    SIMCUDA_ENTER(Entry::cuMemImportFromShareableHandle, Needs::initialization)
    const int file = static_cast<int>(reinterpret_cast<std::intptr_t>(from));
    struct stat there {};
    char path[64], name[128] = "";
    std::snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    int location = 0, id = 0;
    if (!out || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || fstat(file, &there) != 0 ||
        readlink(path, name, sizeof name - 1) < 0 ||
        std::sscanf(name, "/memfd:simcuda-%d-%d", &location, &id) != 2) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Guard guard(driver().mutex);
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.requestedHandleTypes = type;
    properties.location = {static_cast<CUmemLocationType>(location), {id}};
    *out = enter_handle(std::make_shared<Physical>(dup(file), there.st_size, properties));
    return CUDA_SUCCESS;
}
