/// Memory pools: what their allocations are.
#pragma once

#include "interposer/attach/entries.hpp"
#include "trace/values.hpp"

#include <cstdint>

namespace umadvisor::observe {

/// What memory of that kind at that location is: managed, pinned (any location on the host) or device.
trace::Memory memory_at(CUmemAllocationType type, CUmemLocationType location) noexcept;

/// The pool's allocations are `memory`. False: that was known.
bool note_pool(CUmemoryPool pool, trace::Memory memory) noexcept;

/// The pool is about to be destroyed, or its handle is that of a new pool. Returns what its allocations were;
/// unknown: not known.
trace::Memory forget_pool(CUmemoryPool pool) noexcept;
/// A device was reset.
void forget_pools() noexcept;

/// What allocations from the pool are. If it is not known, the driver is asked about `address`, which is one of
/// them, and the answer is kept.
trace::Memory memory_of_pool(CUmemoryPool pool, std::uint64_t address) noexcept;

} // namespace umadvisor::observe
