/// A job from a trace.
#pragma once

#include "analyzer/managed/managed_totals.hpp"
#include "analyzer/reader/trace.hpp"
#include "analyzer/whatif/job.hpp"

#include <set>
#include <string>

namespace umadvisor::whatif {

/// What a trace does not show of a job.
struct Unknowns {
    std::uint64_t unscanned = 0; ///< launches of which it is not known what they reach, or not all of it
    std::uint64_t faults = 0;    ///< events at addresses that no living managed allocation had
    bool host_blind = false;     ///< no record shows when the host touched memory
};

struct ReadJob {
    Job job;
    Unknowns unknowns;
    managed::ManagedTotals totals; ///< what managed memory moved in the recorded run
    std::uint64_t duration_ns = 0, records = 0;
    std::set<std::uint64_t> devices; ///< that the program had a context on; none: not recorded
};

/// In one pass over the events. What umadvisor did in that run is left out: the job is the program's own, and
/// what umadvisor brought to the host counts as touched by the host. With `rewritten`, device memory counts as
/// managed memory. Memory: that of the job, and its live allocations.
ReadJob read_job(reader::Trace& trace, bool rewritten);

} // namespace umadvisor::whatif
