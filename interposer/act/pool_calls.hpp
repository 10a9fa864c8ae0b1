/// Calls of ours on the program's memory pools. What changes a pool is recorded.
#pragma once

#include "interposer/attach/entries.hpp"
#include "trace/values.hpp"

#include <cstdint>

namespace umadvisor::act {

/// Release threshold of a pool that the program has not set.
constexpr cuuint64_t programs_own = 0;

/// How many bytes the pool has reserved or uses; false if the driver does not say.
bool ask_pool(CUmemoryPool pool, CUmemPool_attribute what, std::uint64_t& bytes) noexcept;

CUresult set_threshold(CUmemoryPool pool, std::uint64_t bytes, trace::Reason reason) noexcept;

/// The pool has its own threshold and gives back all that is not in use. Returns whether it did.
bool empty_pool(CUmemoryPool pool) noexcept;

/// Free memory of the device, in bytes; 0 if it is not the current one.
std::uint64_t free_memory_on(CUdevice device) noexcept;

} // namespace umadvisor::act
