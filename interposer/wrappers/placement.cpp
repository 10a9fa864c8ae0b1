#include "interposer/wrappers/placement.hpp"

#include "interposer/act/action.hpp"
#include "interposer/observe/allocations.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/managed_watch.hpp"
#include "interposer/observe/memory_class.hpp"
#include "interposer/observe/residency_sampler.hpp"
#include "interposer/observe/touched.hpp"

namespace umadvisor::wrappers {

namespace {

/// The common part of prefetches, advice and attachments.
template <class Record>
void finish(Record& record, CUdeviceptr address, std::uint64_t bytes) {
    observe::managed_watch().note_change();
    record.address = address;
    record.bytes = bytes;
    observe::Allocation allocation;
    if (observe::allocations().find(address, allocation))
        record.allocation = trace::AllocationId{allocation.id};
    record.stack = record::stack();
    record::write(record);
}

} // namespace

void look_before_prefetch(CUdeviceptr address) noexcept {
    observe::Allocation allocation;
    if (observe::allocations().find(address, allocation) && allocation.memory == trace::Memory::managed)
        observe::residency_sampler().before_prefetch(allocation);
}

void begin_prefetch(trace::Prefetch& record, CUdeviceptr address, MemoryLocation location) noexcept {
    const KeepErrno keep;
    record.location = location.kind;
    record.location_id = location.id;
    if (location.kind == trace::Location::device && observe::residency_sampler().works() &&
        !observe::is_captured(reinterpret_cast<CUstream>(record.stream)))
        look_before_prefetch(address);
}

void finish_prefetch(trace::Prefetch& record, CUdeviceptr address, std::uint64_t bytes) noexcept {
    const KeepErrno keep;
    if (observe::looks_for_pageable_memory())
        record.host_range = observe::classify(address, bytes).host_range;
    finish(record, address, bytes);
    if (record.status == CUDA_SUCCESS)
        act::notify<&act::Action::on_prefetch>(record);
}

void begin_advise(trace::Advise& record, std::uint64_t entry, CUdeviceptr address, std::uint64_t bytes,
                  CUmem_advise advice, MemoryLocation location) noexcept {
    record.entry = entry;
    record.start = record::now();
    record.address = address;
    record.bytes = bytes;
    record.advice = static_cast<std::uint64_t>(advice);
    record.location = location.kind;
    record.location_id = location.id;
}

void finish_advise(trace::Advise& record) noexcept {
    const KeepErrno keep;
    if (record.reason != trace::Reason::none)
        record.duration = record::now() - record.start;
    finish(record, record.address, record.bytes);
    if (record.status == CUDA_SUCCESS)
        act::notify_started<&act::Action::on_advice>(record);
}

void finish_attach(trace::Attach& record, CUdeviceptr address, std::uint64_t bytes) noexcept {
    const KeepErrno keep;
    finish(record, address, bytes);
    if (record.status == CUDA_SUCCESS)
        act::notify<&act::Action::on_attachment>(record);
}

} // namespace umadvisor::wrappers
