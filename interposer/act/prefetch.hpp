/// `--act prefetch`: managed memory that a launch reaches is on the device before it starts. Thread-safe; one
/// load when it is off.
#pragma once

#include "interposer/act/reached.hpp"
#include "interposer/attach/entries.hpp"
#include "interposer/observe/touched.hpp"
#include "trace/copy_records.hpp"
#include "trace/event_records.hpp"
#include "trace/managed_records.hpp"

#include <cstdint>

namespace umadvisor::act {

void start_prefetching() noexcept;

/// Brings what the launch reaches and is not known to be on the device there, on the launch's stream (as given
/// to `launch_entry`). Before the launch, whose call stack has the id `stack`, after the residency sampler has
/// looked.
void before_launch(CUstream stream, attach::Entry launch_entry, const observe::Touched& touched,
                   std::uint64_t stack) noexcept;

/// The launch has been made, or has failed. What the host is known to want of it next follows it there.
void after_launch(bool launched) noexcept;

/// Of a Wait that begins now; 0 when prefetching is off.
std::uint64_t wait_begins() noexcept;

/// The program has waited for the device, and the host may touch what launches left there. What it has taken
/// back at this point before is on the host when this returns.
void after_synchronize(const Wait& wait) noexcept;

/// The program's own prefetch succeeded.
void note_prefetch(const trace::Prefetch& prefetch) noexcept;

/// The program has told the driver where memory is to be or how it is used. What it wants on the host, or used
/// from there, is not brought to the device.
void note_advice(const trace::Advise& advice) noexcept;
void note_attachment(const trace::Attach& attachment) noexcept;

/// Whether [address, address + bytes) of an allocation is not to be brought to the device; 0 bytes: all of it.
void leave_to_faults(std::uint64_t address, std::uint64_t bytes, bool alone) noexcept;

/// Before a copy: addresses of managed memory that it brings to small allocations are remembered, for kernels
/// that follow them.
void note_upload(const trace::Copy& copy) noexcept;

/// All of a managed allocation was brought to its device. False: prefetching is off, and nobody goes by it.
bool note_resident(const observe::Allocation& allocation) noexcept;

/// Something happened to [first, first + bytes) of an allocation that leaves it on either side: a copy, which
/// the driver lets the host or the device carry out, or a discard.
void note_unsettled(std::uint64_t allocation, std::uint64_t first, std::uint64_t bytes) noexcept;

/// The program has made a managed allocation by the call with this stack.
void note_allocation(const observe::Allocation& allocation, std::uint64_t stack) noexcept;

/// What leads on to managed memory is gone.
void forget_pointees(const observe::Allocation& allocation) noexcept;

/// A managed allocation is gone.
void forget_residency(const observe::Allocation& allocation) noexcept;

} // namespace umadvisor::act
