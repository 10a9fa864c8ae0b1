/// `--act relieve`: managed memory that host and device take from each other gets the advice that ends it, and
/// keeps it while that is clearly better. Thread-safe; one load when it is off.
///
/// It goes by the driver's queue, which alone tells who writes, and is off where nobody reads that. The
/// program's own advice wins: an allocation that it has advised on is never touched.
#pragma once

#include "interposer/observe/touched.hpp"

#include <cstdint>

namespace umadvisor::act {

/// `carefully`: only where prefetches cannot help.
void start_relieving(bool carefully) noexcept;

/// Before a launch that reaches `touched`, after the residency sampler has looked.
void relieve(const observe::Touched& touched) noexcept;

/// The program has waited for the device.
void end_round() noexcept;

/// The program has told the driver itself what it wants of the allocation that holds `address`.
void leave_unrelieved(std::uint64_t address) noexcept;

/// A managed allocation is gone.
void forget_relief(const observe::Allocation& allocation) noexcept;

} // namespace umadvisor::act
