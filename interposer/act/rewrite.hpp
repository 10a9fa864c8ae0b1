/// `--act rewrite=...`: device memory that the program asks for becomes managed memory. Thread-safe; one load
/// when it is off.
#pragma once

#include "interposer/attach/entries.hpp"
#include "interposer/observe/allocations.hpp"
#include "interposer/runtime/options.hpp"
#include "trace/values.hpp"

#include <cstddef>

namespace umadvisor::act {

/// Refuses, with one line and a Notice, where memory may be shared with other processes unseen.
void start_rewriting(const runtime::Options& options) noexcept;

/// Of stream-ordered memory: which pool the program named, null for that of the stream's device, and an
/// explicit handle of the stream.
struct StreamOrder {
    CUmemoryPool pool;
    CUstream stream;
};

/// What the program is answered in the driver's stead: managed memory, or that there is no more.
struct RewriteAnswer {
    CUresult result;
    trace::Reason reason;
};

/// Before the driver is asked for `bytes` of device memory, stream-ordered or not (null). False: it is to be
/// asked; nothing has changed but the answer's reason, where the plan leaves the call site to the driver.
bool rewrite_allocation(CUdeviceptr* out, std::size_t bytes, const StreamOrder* order,
                        RewriteAnswer& answer) noexcept;

/// After the driver has answered that there is no memory. False: that is the program's answer.
bool spill_allocation(CUdeviceptr* out, std::size_t bytes, const StreamOrder* order,
                      RewriteAnswer& answer) noexcept;

/// What the driver would make of a row of `width` bytes (cuMemAllocPitch); 0: nothing is rewritten, or not
/// known.
std::size_t rewritten_pitch(std::size_t width, unsigned element) noexcept;

/// Preferred location and prefetch of a rewritten allocation, while all of them fit the device's memory. A pool
/// has given its own their place.
void place(const observe::Allocation& allocation) noexcept;

/// The device has one allocation more that was not rewritten.
void give_way(std::uint32_t device) noexcept;

/// A managed allocation is gone.
void forget_rewritten(const observe::Allocation& allocation) noexcept;

/// Whether the program is to be told of `address` what it would be of device memory: it was rewritten, and who
/// asks does not move memory by itself.
bool passes_for_device_memory(std::uint64_t address) noexcept;

/// The driver has refused to share `address` with other processes. Where that is our doing, no more is
/// rewritten.
void sharing_was_refused(std::uint64_t address) noexcept;

} // namespace umadvisor::act
