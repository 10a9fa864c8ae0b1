/// Shares the driver's totals, which name no memory, among the allocations that were used while they grew.
#pragma once

#include "analyzer/managed/managed_ranges.hpp"

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace umadvisor::managed {

/// Memory: the allocations used since the totals were last recorded, and `most_kept` totals.
class SharedTotals {
public:
    static constexpr std::size_t most_kept = 256; ///< for faults that are reported late

    /// It has been used. Forget it before it goes.
    void use(ManagedAllocation& allocation);
    void forget(const ManagedAllocation& allocation);
    /// The program prefetched some of what comes to the host next.
    void prefetch_to_host() { prefetched_to_host_ = true; }

    /// `moves_known`: one by one; `running`: what is still used in the time that begins now.
    void share(const trace::ManagedCounters& before, const trace::ManagedCounters& after, bool moves_known,
               std::span<ManagedAllocation* const> running);
    /// A fault is reported late: the totals of its time may have been shared without this allocation.
    void share_late(ManagedAllocation& allocation, std::uint64_t time);

private:
    std::vector<ManagedAllocation*> used_; ///< since the totals were last recorded
    bool prefetched_to_host_ = false;      ///< the same
    std::deque<UseStep> last_;
    std::uint64_t told_ = 0; ///< when, ticks
};

} // namespace umadvisor::managed
