/// When host and device had page faults, and when the link carried what they brought: estimated from what the
/// driver counted between two calls.
#pragma once

#include "analyzer/machine/rates.hpp"
#include "analyzer/reports/html/timeline/timeline.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace umadvisor::html {

/// Between two readings of the driver's totals.
struct Interval {
    double begin = 0, end = 0;
    double up = 0, down = 0, host_faults = 0, device_faults = 0;
    double prefetched_up = 0, prefetched_down = 0;
};

/// Memory: bounded; beyond, two intervals become one.
class FaultTimes {
public:
    void add(const Interval& interval);
    /// A host fault that has a record of its own.
    void host_fault(double time, std::uint64_t tid, std::uint64_t code);
    /// Call once, when all else is known.
    void place(Timeline& timeline, const machine::Rates& rates);

private:
    struct HostFault {
        double time = 0;
        std::uint64_t tid = 0, code = 0;
    };
    struct HostStalls {
        Stretches stretches;
        StackTimes::ByCode by_code;
    };
    using ByThread = std::map<std::uint64_t, HostStalls>; ///< by its number in the system

    Stretches stalls(const Timeline& timeline, const machine::Rates& rates) const;
    ByThread follow(Timeline& timeline, const machine::Rates& rates, const Stretches& stalled);

    std::vector<Interval> intervals_;
    std::vector<HostFault> faults_;
};

} // namespace umadvisor::html
