#include "interposer/observe/fault_joiner.hpp"

#include "residency/geometry.hpp"

#include <algorithm>

namespace umadvisor::observe {

namespace {

constexpr std::uint64_t together_ns = 100'000; ///< faults further apart are two events

} // namespace

std::uint64_t rest_of_page(std::uint64_t address) noexcept {
    return residency::page_bytes - address % residency::page_bytes;
}

/// A page that faults again has migrated away in between, so that is a new event. Within one batch it is not:
/// several multiprocessors faulted on the page at the same time.
void FaultJoiner::take(const trace::ManagedEvent& fault, std::uint32_t batch, WriteManaged write,
                       void* to) noexcept {
    const bool again = fault.address >= event_.address && fault.address < event_.address + event_.bytes;
    if (used_ && event_.cause == fault.cause && event_.code == fault.code && event_.thread == fault.thread &&
        event_.to == fault.to &&
        residency::block_number(event_.address) == residency::block_number(fault.address) &&
        fault.start - event_.start < together_ns && (!again || (batch != 0 && batch == batch_))) {
        const std::uint64_t end = std::max(event_.address + event_.bytes, fault.address + fault.bytes);
        event_.address = std::min(event_.address, fault.address);
        event_.bytes = end - event_.address;
        event_.count += 1 + fault.count;
        return;
    }
    finish(write, to);
    event_ = fault;
    batch_ = batch;
    used_ = true;
}

void FaultJoiner::finish(WriteManaged write, void* to) noexcept {
    if (!used_)
        return;
    write(to, event_);
    used_ = false;
}

} // namespace umadvisor::observe
