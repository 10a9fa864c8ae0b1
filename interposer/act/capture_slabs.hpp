/// Pinned memory of ours that holds bytes of the program's small copies until the device has read them.
#pragma once

#include "interposer/attach/entries.hpp"

#include <cstdint>

namespace umadvisor::act {

/// `policy::CopyBatch::most_bytes` of pinned memory, which is freed with its context, as its stream is.
struct CaptureSlab {
    std::uint16_t context; ///< number; 0: not made
    char* memory;
    CUevent read;  ///< recorded when what reads it was queued
    bool in_use;   ///< until that event is done
    CUstream ours; ///< non-blocking, the same for all slabs of the context; null: not made
};

/// A slab of the current context that nothing on the device reads; makes those of the context if need be. Null:
/// there is none. `with_stream`: one that has a stream. The caller holds no lock, and nothing is captured.
CaptureSlab* free_slab(CUcontext context, bool with_stream) noexcept;

/// Another slab of the same, current context; waits until nothing reads it. Null: there is none.
CaptureSlab* other_slab(CaptureSlab* slab) noexcept;

/// What was queued on `stream` reads the slab, which may be null. In the slab's context.
void mark_used(CaptureSlab* slab, CUstream stream) noexcept;

/// The context has been destroyed.
void forget_slabs(std::uint16_t context_number) noexcept;

} // namespace umadvisor::act
