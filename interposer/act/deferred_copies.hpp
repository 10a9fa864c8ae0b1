/// How copies that were deferred are made: as few calls of the driver as can be.
#pragma once

#include "interposer/act/capture_slabs.hpp"
#include "interposer/attach/entries.hpp"
#include "policy/copy_batch.hpp"

#include <cstdint>

namespace umadvisor::act {

/// Where copies of a run belong.
struct DeferredCopies {
    CUcontext context = nullptr;
    std::uint32_t device = 0;    ///< ordinal
    std::uint64_t stack = 0;     ///< id of the call stack of the copy before them
    CaptureSlab* slab = nullptr; ///< that has their bytes; null: these stay where they are
};

/// Whether this driver has, and has not refused, calls for several copies without an order.
bool makes_batches() noexcept;

/// Makes what `batch` has, in the context that it belongs to. Synchronous copies come behind all that the
/// legacy stream orders, and are complete at the return. Nothing changes `batch` meanwhile; no lock is held.
/// Errors are left to the program's next call, and count as failures of the mode. Returns the number of calls.
std::uint32_t make_copies(const policy::CopyBatch& batch, const DeferredCopies& copies) noexcept;

} // namespace umadvisor::act
