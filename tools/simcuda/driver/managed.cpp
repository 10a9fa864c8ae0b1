#include "tools/simcuda/driver/managed.hpp"
#include "tools/simcuda/driver/capture.hpp"
#include "tools/simcuda/driver/host_faults.hpp"
#include "tools/simcuda/driver/tools_events.hpp"
#include "tools/simcuda/driver/tools_queue.hpp"

namespace simcuda {

namespace {

HostFaults host_faults;

/// Keeps the host's page table true to the model; what else happens goes to the tools device.
class HostMapping final : public ToolsEvents {
public:
    void host_mapping_lost(std::uint64_t address, std::uint64_t bytes) override {
        host_faults.unmap(address, bytes);
    }
    void host_mapping_gained(std::uint64_t address, std::uint64_t bytes) override {
        host_faults.map(address, bytes, driver().arena.view(address));
    }
    void host_write_protected(std::uint64_t address, std::uint64_t bytes) override {
        host_faults.protect(address, bytes, true);
    }
};

HostMapping& host_mapping() {
    // Never destroyed: the fault thread serves the program's last destructors too.
    static auto* only = new HostMapping;
    return *only;
}

void service_fault(std::uint64_t address, bool write, std::uint32_t thread) {
    Driver& state = driver();
    const bool wanted = trackers().wanted(tools::EventType::host_fault);
    const FaultingThread faulting{thread, wanted ? program_counter(thread) : 0};
    const Guard guard(state.mutex);
    host_mapping().set_faulting_thread(faulting);
    const residency::Cost cost =
        state.memory->touch(residency::host_processor, address, residency::page_bytes,
                            write ? residency::Access::write : residency::Access::read, state.clock.now());
    state.clock.advance(cost.time);
    // The model may know the page as resident although the mapping is gone (the kernel may drop page-table
    // entries when memory is short) or was freed since: either way the thread that waits goes on.
    host_faults.map(address, residency::page_bytes, state.arena.view(address));
    if (write) {
        host_faults.protect(address, residency::page_bytes, false);
    }
}

std::uint64_t mapped_bytes(std::uint64_t bytes) {
    return (bytes + residency::page_bytes - 1) / residency::page_bytes * residency::page_bytes;
}

} // namespace

residency::Observer* model_observer() {
    return &host_mapping();
}

CUresult allocate_managed(CUdeviceptr* address, std::uint64_t bytes, unsigned flags) {
    Driver& state = driver();
    if (bytes == 0 || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!host_faults.start(service_fault)) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    const std::uint64_t mapped = mapped_bytes(bytes);
    const std::uint64_t at = state.managed_addresses->take(
        mapped, mapped >= residency::block_bytes ? residency::block_bytes : residency::granule_bytes);
    if (at == 0) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!state.arena.open_host_view(at, mapped) || !host_faults.watch(at, mapped)) {
        state.arena.close_host_view(at, mapped);
        state.managed_addresses->give(at, mapped);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    state.memory->add_range(at, mapped);
    state.allocations.emplace(at, Allocation{at, bytes, managed, current_context()->device, flags, false,
                                             ++state.ids, current_context()});
    *address = at;
    return CUDA_SUCCESS;
}

void release_managed(const Allocation& allocation) {
    Driver& state = driver();
    const std::uint64_t mapped = mapped_bytes(allocation.bytes);
    state.memory->remove_range(allocation.address);
    state.arena.close_host_view(allocation.address, mapped);
    state.managed_addresses->give(allocation.address, mapped);
}

} // namespace simcuda

using namespace simcuda;

extern "C" CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
    SIMCUDA_ENTER(Entry::cuMemAllocManaged)
    CUdeviceptr made = 0;
    {
        const Guard guard(driver().mutex);
        if (const CUresult refused = refuse_unsafe_call()) {
            return refused;
        }
        if (const CUresult failed =
                address ? allocate_managed(&made, bytes, flags) : CUDA_ERROR_INVALID_VALUE) {
            return failed;
        }
    }
    *address = made;
    return CUDA_SUCCESS;
}
