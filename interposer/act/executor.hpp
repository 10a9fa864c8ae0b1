/// What umadvisor does to the program when asked to: decisions of policy.hpp turned into driver calls.
///
/// Every action is recorded with origin umadvisor. One that is refused or fails leaves the program exactly as
/// it would have been; a mode whose actions keep failing switches itself off with one Notice. Nothing happens
/// during stream capture. All functions are thread-safe; with no mode asked for each costs one load.
#pragma once

#include "interposer/attach/entries.hpp"
#include "interposer/observe/touched.hpp"
#include "interposer/runtime/options.hpp"
#include "trace/event_records.hpp"

#include <cstddef>
#include <cstdint>

namespace umadvisor::act {

/// Asks the devices what they can do and switches on the modes asked for; refuses, with one line and a Notice,
/// what no device can. After cuInit.
void initialize(const runtime::Options& options) noexcept;

/// `--act rewrite=all`: answers cuMemAlloc with managed memory. False: forward the call unchanged.
bool rewrite_allocation(CUdeviceptr* out, std::size_t bytes, CUresult& result) noexcept;

/// Preferred location and prefetch of a rewritten allocation, while all of them fit the device's memory.
void place(const observe::Allocation& allocation) noexcept;

/// The allocation is gone.
void forget(const observe::Allocation& allocation) noexcept;

/// `--act prefetch`: brings what the launch reaches and is not known to be on the device there, on the launch's
/// stream (as given to `launch_entry`). Before the launch, after the residency sampler has looked.
void before_launch(CUstream stream, attach::Entry launch_entry, const observe::Touched& touched) noexcept;

/// The program has waited for the device: from now on the host may touch what launches left there.
void after_synchronize() noexcept;

/// The program's own prefetch succeeded.
void note_prefetch(const trace::Prefetch& prefetch) noexcept;

/// Something happened to [first, first + bytes) of an allocation that leaves it on either side: a copy, which
/// the driver lets the host or the device carry out, or a discard.
void note_unsettled(std::uint64_t allocation, std::uint64_t first, std::uint64_t bytes) noexcept;

/// What cuMemGetInfo and cuDeviceTotalMem answered, made to look like the pretended card. Free falls by
/// rewritten bytes as it would have by cuMemAlloc, to zero at the least. Either may be null.
void adjust_memory_info(std::size_t* free, std::size_t* total) noexcept;

} // namespace umadvisor::act
