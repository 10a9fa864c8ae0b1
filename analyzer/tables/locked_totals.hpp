/// The page-locked memory of a line or of the program.
#pragma once

#include "trace/event_records.hpp"

#include <cstdint>

namespace umadvisor::tables {

/// All page-locked memory that one line, or the program, has made.
struct LockedTotals {
    std::uint64_t count = 0, bytes = 0;
    std::uint64_t lock_ticks = 0, unlock_ticks = 0; ///< unlock: without calls that may have waited for work
    std::uint64_t copied_bytes = 0; ///< from the first to the last byte that copies and sets reached of each
    std::uint64_t live = 0, live_bytes = 0, peak = 0, peak_bytes = 0; ///< at once
    std::uint64_t smallest = UINT64_MAX, largest = 0;                 ///< bytes of one
    std::uint64_t far_bytes = 0,
                  far_node = 0; ///< on another NUMA node than its device's; node of the last, plus 1
    bool by_kernels = false;    ///< a kernel may have reached some of it
    bool unknown = false;       ///< work that is not described in full may have used some of it

    /// `far`: it lies on another NUMA node than its device.
    void add(const trace::Alloc& record, bool far);
    /// The sum over lines. Peaks that were not at one time add up to more than there was.
    LockedTotals& operator+=(const LockedTotals& other);
};

} // namespace umadvisor::tables
