/// What must have come to the device for launches after which no look was recorded. The driver's totals name no
/// memory, but what exceeds all that other memory can have brought belongs to this allocation.
#pragma once

#include "analyzer/managed/managed_ranges.hpp"
#include "analyzer/reader/saturated.hpp"

#include <cstdint>
#include <vector>

namespace umadvisor::managed {

/// Works on spans of time in which launches run: from the first launch to the totals recorded after the wait
/// for all. Memory: the allocations that are reached in such a span, `most` at the most.
class SureArrivals {
public:
    static constexpr std::size_t most = 256;

    /// Totals of several devices may count what went from one to the other: nothing is sure of such a time.
    void launch(ManagedAllocation& allocation, std::uint64_t device);
    /// It may reach any memory: nothing is sure of this time.
    void launch_anywhere() {
        over_ = 0;
        unknown_ = true;
    }
    /// A copy, say, that reads or writes it.
    void touch(ManagedAllocation& allocation);
    /// `bytes` of it were on the host at `time`. Call this only where host faults are recorded.
    void look(ManagedAllocation& allocation, std::uint64_t bytes, std::uint64_t time) const {
        allocation.on_host = {bytes, time, epoch_};
    }
    /// The host touches it, or will have it, and pages of it may be made.
    void host_touch(ManagedAllocation& allocation, std::uint64_t time);
    /// `bytes` may come by prefetch, now or later.
    void prefetch(std::uint64_t bytes) { reader::add_saturated(prefetched_, bytes); }
    /// The program has waited for all launches; at that time, in ticks.
    void waited(std::uint64_t time) { over_ = time; }
    /// The totals have grown by so much. Ends the time when all was waited for.
    void moved(std::uint64_t to_device, std::uint64_t to_host);
    /// The trace ends.
    void finish(std::uint64_t time);
    /// Before it goes.
    void forget(ManagedAllocation& allocation);

private:
    static constexpr std::uint64_t no_device = UINT64_MAX;
    std::uint64_t most_of(const ManagedAllocation& allocation) const;
    void close();

    std::vector<ManagedAllocation*> reached_;
    std::uint64_t came_ = 0;                               ///< bytes to the device
    std::uint64_t otherwise_ = 0;                          ///< of these, what may have come before and gone
    std::uint64_t prefetched_ = 0, prefetched_before_ = 0; ///< now, and in the time before: it may come late
    std::uint64_t over_ = 0;                               ///< ticks; 0: launches run
    std::uint64_t device_ = no_device;
    std::uint64_t epoch_ = 0; ///< goes on when something has come to the host: looks before it are out of date
    bool unknown_ = false;
};

} // namespace umadvisor::managed
