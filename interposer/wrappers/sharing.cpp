#include "interposer/wrappers/sharing.hpp"

#include "interposer/observe/allocations.hpp"

namespace umadvisor::wrappers {

namespace {

/// The driver counts how often a handle was opened and answers the same address again.
bool is_open(std::uint64_t address) {
    observe::Allocation known;
    return observe::allocations().find(address, known) && known.address == address;
}

} // namespace

void finish_ipc(trace::Ipc& record) noexcept {
    const KeepErrno keep;
    const bool opened = record.action == trace::IpcAction::open_memory && record.address != 0;
    if (opened)
        record.bytes = mapped_bytes(record.address);
    record.stack = record::stack();
    record::write(record);
    if (opened && !is_open(record.address))
        enter_part(record, record.address, record.bytes, trace::Memory::device, Owner::context);
}

void begin_close(FreeScope& part, CUdeviceptr address) noexcept {
    part.record.part = 1;
    begin_free(part, address);
}

void finish_close(trace::Ipc& record, FreeScope& part) noexcept {
    finish_ipc(record);
    part.record.entry = record.entry;
    part.record.start = record.start;
    part.record.status = record.status;
    finish_free(part);
}

void finish_external(trace::External& record) noexcept {
    const KeepErrno keep;
    record.stack = record::stack();
    record::write(record);
    // The size of the new array is not known, so it is not entered; a former array with its handle is removed.
    if (observe::Allocation gone; record.action == trace::ExternalAction::map_array && record.address != 0)
        observe::arrays().erase(record.address, gone);
    // Freed by cuMemFree, not with the external memory (cuExternalMemoryGetMappedBuffer).
    if (record.action == trace::ExternalAction::map_buffer && record.address != 0)
        enter_part(record, record.address, record.bytes, trace::Memory::device, Owner::context);
}

} // namespace umadvisor::wrappers
