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

/// The pool is destroyed; its handle may come back.
void forget_pool(CUmemoryPool pool) noexcept;

/// What an allocation from the pool is. Where nobody told, the driver is asked about `address`, one of them,
/// and the answer kept.
trace::Memory memory_of_pool(CUmemoryPool pool, std::uint64_t address) noexcept;

} // namespace umadvisor::observe
