#include "interposer/wrappers/virtual_memory.hpp"

#include "interposer/observe/allocations.hpp"
#include "interposer/observe/pools.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/wrappers/allocation.hpp"

namespace umadvisor::wrappers {

namespace {

/// The memory's own location decides of which kind the range is; access is granted later.
void enter_mapping(const trace::VirtualMemory& record) {
    CUmemAllocationProp made{};
    trace::Memory memory = trace::Memory::device;
    std::uint64_t device = 0;
    // The driver refuses this for multicast objects, which are always device memory.
    if (attach::real<Entry::cuMemGetAllocationPropertiesFromHandle>()(&made, record.handle) == CUDA_SUCCESS) {
        memory = observe::memory_at(made.type, made.location.type);
        if (made.location.type == CU_MEM_LOCATION_TYPE_DEVICE)
            device = static_cast<std::uint64_t>(made.location.id);
    }
    enter_part(record, record.address, record.bytes, memory, Owner::none, device);
}

/// One call may unmap many ranges. They are removed after the call: the addresses stay reserved, so no other
/// thread gets them.
void leave_mappings(const trace::VirtualMemory& record) {
    constexpr std::size_t batch = 64;
    struct Batch {
        observe::Allocation all[batch];
    };
    const record::OffStack<Batch> removed;
    auto& gone = removed->all;
    for (std::size_t count = batch; count == batch;) {
        count = observe::allocations().remove_range(record.address, record.address + record.bytes, gone, batch);
        leave_parts(record, gone, count);
    }
}

} // namespace

void finish_virtual_memory(trace::VirtualMemory& record) noexcept {
    const KeepErrno keep;
    record.stack = record::stack();
    record::write(record);
    if (record.status != CUDA_SUCCESS)
        return;
    if (record.action == trace::VirtualMemoryAction::map)
        enter_mapping(record);
    else if (record.action == trace::VirtualMemoryAction::unmap)
        leave_mappings(record);
}

} // namespace umadvisor::wrappers
