#include "interposer/wrappers/allocation.hpp"

#include "interposer/observe/allocations.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/contexts.hpp"
#include "interposer/observe/host_nodes.hpp"
#include "interposer/observe/launch_detail.hpp"
#include "interposer/observe/managed_watch.hpp"
#include "interposer/observe/memory_class.hpp"
#include "interposer/observe/module_variables.hpp"
#include "interposer/observe/residency_sampler.hpp"

#include <algorithm>

namespace umadvisor::wrappers {

namespace {

/// Whether the host can read the memory fast and without side effects: write-combined memory is a hundred times
/// slower, and reading a device's registers may change them. Memory of pools and mapped ranges may be
/// inaccessible to the host.
bool is_readable(const trace::Alloc& record) {
    if (record.memory == trace::Memory::pinned)
        return record.part == 0 && record.pool == 0 && (record.flags & CU_MEMHOSTALLOC_WRITECOMBINED) == 0;
    return record.memory == trace::Memory::registered && (record.flags & CU_MEMHOSTREGISTER_IOMEMORY) == 0;
}

/// Whether act/ counts the memory as the program's own. Not variables of modules and memory of graphs, which
/// are freed without a call, nor what calls make that are neither allocations nor mappings.
bool fills_card(const trace::Alloc& record) {
    const bool asked_for = record.part == 0 || record.entry == attach::index(Entry::cuMemMap);
    return asked_for && record.memory == trace::Memory::device && record.symbol == 0 && record.captured == 0;
}

/// The NUMA node of host memory. Not known for memory from pools, mapped ranges and other processes, which
/// another thread may have allocated.
std::uint64_t host_node(const trace::Alloc& record) {
    if (record.part != 0 || record.pool != 0)
        return 0;
    return record.memory == trace::Memory::pinned       ? observe::node_of_thread()
           : record.memory == trace::Memory::registered ? observe::node_of_page(record.address)
                                                        : 0;
}

} // namespace

void finish_allocation(trace::Alloc& record, std::uint64_t address, std::uint64_t bytes, Owner owner) noexcept {
    const KeepErrno keep;
    record.bytes = bytes;
    record.stack = record::stack();
    record.captured = observe::is_captured(reinterpret_cast<CUstream>(record.stream));
    observe::Allocation allocation{};
    constexpr std::size_t most_covered = 8;
    observe::Allocation covered[most_covered];
    std::size_t gone = 0;
    if (record.status == CUDA_SUCCESS && address != 0) {
        allocation.id = observe::allocations().next_id();
        allocation.address = address;
        allocation.bytes = bytes;
        allocation.memory = record.memory;
        allocation.device = owner == Owner::none ? static_cast<std::uint32_t>(record.device)
                                                 : observe::device_of_memory(address);
        allocation.context = owner == Owner::context  ? observe::current_context_number()
                             : owner == Owner::device ? observe::device_number(allocation.device)
                                                      : std::uint16_t{0};
        allocation.rewritten = record.origin == trace::Origin::umadvisor;
        allocation.pooled = allocation.rewritten && owner == Owner::device;
        allocation.readable = is_readable(record);
        allocation.fills_card = fills_card(record);
        record.allocation = trace::AllocationId{allocation.id};
        record.address = address;
        record.device = allocation.device;
        record.node = host_node(record);
        gone = std::min(observe::allocations().insert(allocation, covered, most_covered), most_covered);
    }
    // Allocations that it covers were freed unseen, or are being freed with a context that another thread
    // destroys.
    leave_parts(record, covered, gone);
    record::write(record);
    if (allocation.id != 0 && allocation.memory == trace::Memory::managed) {
        observe::managed_watch().begin();
        if (!allocation.rewritten)
            observe::note_own_managed_memory();
    }
    if (allocation.id != 0)
        act::notify_started<&act::Action::on_allocation>(allocation, record.stack);
    if (allocation.id != 0 && owner == Owner::device && record.part == 0 && record.captured == 0 &&
        record.reason == trace::Reason::none)
        act::notify<&act::Action::on_pool_allocation>(record);
}

std::uint64_t mapped_bytes(CUdeviceptr address) noexcept {
    CUdeviceptr base = 0;
    std::size_t bytes = 0;
    return attach::real<Entry::cuMemGetAddressRange_v2>()(&base, &bytes, address) == CUDA_SUCCESS &&
                   address - base < bytes
               ? bytes - (address - base)
               : 0;
}

void finish_global(trace::Alloc& record, CUdeviceptr address, std::size_t bytes, const char* name,
                   std::uint64_t module) noexcept {
    const KeepErrno keep;
    observe::Allocation known;
    if (observe::allocations().find(address, known) && known.address == address)
        return; // it was entered before
    record.memory = observe::classify(address, bytes).memory;
    if (record.memory == trace::Memory::unknown)
        record.memory = trace::Memory::device;
    record.symbol = name != nullptr ? record::string_id(name) : 0;
    observe::module_variables().add(address, record.memory == trace::Memory::managed, module);
    finish_allocation(record, address, bytes);
}

void begin_free(FreeScope& scope, std::uint64_t address) noexcept {
    const KeepErrno keep;
    trace::Free& record = scope.record;
    record.address = address;
    record.captured = observe::is_captured(reinterpret_cast<CUstream>(record.stream));
    if (observe::Allocation known; record.captured != 0) { // it lives until the graph frees it
        record.allocation = trace::AllocationId{observe::allocations().find(address, known) ? known.id : 0};
        return;
    }
    if (address == 0 || !observe::allocations().erase(address, scope.removed))
        return;
    record.allocation = trace::AllocationId{scope.removed.id};
    if (scope.removed.memory == trace::Memory::managed && !scope.removed.kept_on_device &&
        record::takes(record::Taking::everything))
        observe::residency_sampler().before_free(scope.removed);
}

void finish_free(FreeScope& scope) noexcept {
    const KeepErrno keep;
    if (scope.record.status != CUDA_SUCCESS && scope.removed.id != 0)
        observe::allocations().insert(scope.removed);
    else if (scope.removed.id != 0)
        act::notify_started<&act::Action::on_free>(scope.removed);
    scope.record.stack = record::stack();
    record::write(scope.record);
}

} // namespace umadvisor::wrappers
