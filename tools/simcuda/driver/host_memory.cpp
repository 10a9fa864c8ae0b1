// Pinned and registered host memory.
#include "tools/simcuda/driver/capture.hpp"
#include "tools/simcuda/driver/driver.hpp"
#include "tools/simcuda/driver/stream.hpp"

#include <sched.h>
#include <sys/mman.h>

using namespace simcuda;

namespace {

/// That the calling thread runs on; -1: not known.
int current_node() {
    unsigned cpu = 0, node = 0;
    return getcpu(&cpu, &node) == 0 ? static_cast<int>(node) % driver().config.host_nodes : -1;
}

CUresult allocate_host(void** address, std::size_t bytes, unsigned flags) {
    if (!address || bytes == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    void* at = nullptr;
    {
        Driver& state = driver();
        const Guard guard(state.mutex);
        if (const CUresult refused = refuse_unsafe_call()) {
            return refused;
        }
        at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        const auto key = reinterpret_cast<std::uint64_t>(at);
        state.allocations.emplace(key, Allocation{key, bytes, pinned, current_context()->device, flags, false,
                                                  ++state.ids, current_context(), Made::plain, nullptr,
                                                  current_node()});
        state.clock.advance(residency::transfer_time(bytes, state.prices.host_allocate));
    }
    *address = at;
    return CUDA_SUCCESS;
}

} // namespace

extern "C" CUresult CUDAAPI cuMemAllocHost_v2(void** address, size_t bytes) {
    SIMCUDA_ENTER(Entry::cuMemAllocHost_v2)
    return allocate_host(address, bytes, 0);
}

extern "C" CUresult CUDAAPI cuMemHostAlloc(void** address, size_t bytes, unsigned flags) {
    SIMCUDA_ENTER(Entry::cuMemHostAlloc)
    return allocate_host(address, bytes, flags);
}

extern "C" CUresult CUDAAPI cuMemFreeHost(void* address) {
    SIMCUDA_ENTER(Entry::cuMemFreeHost)
    Driver& state = driver();
    const Guard guard(state.mutex);
    const auto found = state.allocations.find(reinterpret_cast<std::uint64_t>(address));
    if (found == state.allocations.end() || found->second.memory != pinned) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    state.clock.advance_to(context_end(*current_context())); // it waits for all streams
    munmap(address, found->second.bytes);
    state.allocations.erase(found);
    state.epoch.fetch_add(1);
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuMemHostRegister_v2(void* address, size_t bytes, unsigned flags) {
    SIMCUDA_ENTER(Entry::cuMemHostRegister_v2)
    const auto at = reinterpret_cast<std::uint64_t>(address);
    if (!address || bytes == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    Driver& state = driver();
    const Guard guard(state.mutex);
    const auto next = state.allocations.lower_bound(at);
    if (state.find(at) || (next != state.allocations.end() && next->first < at + bytes)) {
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    }
    state.allocations.emplace(at,
                              Allocation{at, bytes, registered, current_context()->device, flags, false,
                                         ++state.ids, current_context(), Made::plain, nullptr, current_node()});
    state.clock.advance(residency::transfer_time(bytes, state.prices.host_register));
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuMemHostUnregister(void* address) {
    SIMCUDA_ENTER(Entry::cuMemHostUnregister)
    Driver& state = driver();
    const Guard guard(state.mutex);
    const auto found = state.allocations.find(reinterpret_cast<std::uint64_t>(address));
    if (found == state.allocations.end()) {
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    }
    if (found->second.memory != registered) {
        return CUDA_ERROR_INVALID_VALUE; // seen on an H200, driver 580
    }
    state.clock.advance_to(context_end(*current_context())); // it waits for all streams
    state.clock.advance(residency::transfer_time(found->second.bytes, state.prices.host_unregister));
    state.allocations.erase(found);
    state.epoch.fetch_add(1);
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* host, unsigned) {
    SIMCUDA_ENTER(Entry::cuMemHostGetDevicePointer_v2)
    const Guard guard(driver().mutex);
    const MemoryClass memory = driver().classify(reinterpret_cast<std::uint64_t>(host));
    if (memory != pinned && memory != registered) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *device = reinterpret_cast<CUdeviceptr>(host);
    return CUDA_SUCCESS;
}

extern "C" CUresult CUDAAPI cuMemHostGetFlags(unsigned* flags, void* host) {
    SIMCUDA_ENTER(Entry::cuMemHostGetFlags)
    const Guard guard(driver().mutex);
    const Allocation* found = driver().find(reinterpret_cast<std::uint64_t>(host));
    if (!found || (found->memory != pinned && found->memory != registered)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *flags = found->flags | CU_MEMHOSTALLOC_DEVICEMAP; // seen on an H200, driver 580, for both
    return CUDA_SUCCESS;
}
