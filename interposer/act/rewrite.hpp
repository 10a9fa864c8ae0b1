/// `--act rewrite=all`: cuMemAlloc answered with managed memory. Thread-safe; one load when it is off.
#pragma once

#include "interposer/attach/entries.hpp"
#include "interposer/observe/allocations.hpp"

#include <cstddef>

namespace umadvisor::act {

void start_rewriting() noexcept;

/// Answers cuMemAlloc with managed memory. False: forward the call unchanged.
bool rewrite_allocation(CUdeviceptr* out, std::size_t bytes, CUresult& result) noexcept;

/// Preferred location and prefetch of a rewritten allocation, while all of them fit the device's memory.
void place(const observe::Allocation& allocation) noexcept;

/// A managed allocation is gone.
void forget_rewritten(const observe::Allocation& allocation) noexcept;

} // namespace umadvisor::act
