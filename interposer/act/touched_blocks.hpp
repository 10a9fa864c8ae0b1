/// Large pinned allocations, made of pages that several threads touch at once. The driver's own allocation has
/// one thread clear them, at some 2 GB/s.
///
/// The driver allocates pinned memory as a shared mapping of anonymous pages, so a forked child shares it; a
/// mapping of that kind which is registered answers every query of the driver as such an allocation does, but
/// for cuMemFreeHost and cuMemHostUnregister; those are answered in the driver's stead. Thread-safe.
#pragma once

#include "interposer/act/action.hpp"

namespace umadvisor::act {

/// Makes what the program asks for, in the current context. False: the driver is to make it.
bool make_touched(const HostAllocationScope& asked) noexcept;

/// Whether this process has made a block at this address, which it still has.
bool is_touched(std::uint64_t address) noexcept;

/// Frees such a block, whose context is current. Returns what cuMemFreeHost would.
CUresult free_touched(std::uint64_t address) noexcept;

/// The context has ended: its blocks are unmapped.
void forget_touched(std::uint16_t context_number) noexcept;

} // namespace umadvisor::act
