/// `--act stage`: copies between pageable and device memory pass through pinned buffers that a few threads fill
/// or empty, while the device transfers at the rate of pinned memory.
///
/// A staged copy keeps what the original promises: what was in the stream before it comes first (the driver
/// waits for it too before it reads pageable memory: CUDA driver API, "API synchronization behavior"), the
/// source may be used again when the call returns, a copy to the host is complete then, and a synchronous one
/// is. Where any driver call fails the original is made for the whole copy, and the program gets its answer.
///
/// Left alone: what may be captured, and anything while the program captures at all; ends that are not whole in
/// one device allocation and in pageable memory; copies on streams of another context than the current one; a
/// second copy in a context while one is staged; call sites by stage_sites.hpp.
#pragma once

#include "interposer/attach/entries.hpp"
#include "interposer/runtime/options.hpp"
#include "trace/copy_records.hpp"

#include <atomic>
#include <cstdint>

namespace umadvisor::act {

/// Switches staging on where it was asked for; refuses, with one line and a Notice, where it would not pay.
/// After cuInit.
void initialize_staging(const runtime::Options& options) noexcept;

namespace detail {
bool stage(trace::Copy& copy) noexcept;
extern constinit std::atomic<bool> staging_wanted;
} // namespace detail

/// In place of the driver's call for a copy that is described by its record (both ends, `stream` as an explicit
/// handle): true when it has succeeded, and `staged` is set. False: make the call; `reason` says why where call
/// sites are told apart. One load where staging was not asked for.
inline bool stage(trace::Copy& copy) noexcept {
    return detail::staging_wanted.load(std::memory_order_acquire) && detail::stage(copy);
}

} // namespace umadvisor::act
