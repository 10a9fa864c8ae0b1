/// A ring is written apart when memory runs out, or an error sticks.
#pragma once

#include <cstdint>

namespace umadvisor::runtime {

/// A call failed with this CUresult. Wakes the thread of control/ where that is a reason to write the ring. Any
/// thread may call it.
void note_failure(std::uint64_t status) noexcept;

/// Writes the ring if there is a reason, and says so on stderr. For the thread of control/ alone.
void snapshot_after_failure() noexcept;

} // namespace umadvisor::runtime
