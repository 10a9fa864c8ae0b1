/// How long the engines of the device take for what patterns of work consist of.
#pragma once

#include "analyzer/rules/profile.hpp"
#include "analyzer/rules/transfers/work_patterns.hpp"

#include <vector>

namespace umadvisor::rules {

/// The program's device as the schedule has it. Measured on one H200: work starts 3 us after what it waited
/// for.
Machine machine_of(const Profile& profile);

struct EngineTimes {
    std::vector<double> ns; ///< of each work; copies of pageable memory as if it were pinned
    bool pageable = false;  ///< some copies are of pageable memory
};

/// Device times as measured where they were sampled; those of synchronous copies from their calls, without the
/// kernels that a download waits for; else bytes at the link's rate. Empty: a kernel was never measured.
EngineTimes engine_times(const Profile& profile, const WorkPattern& pattern);

/// What each operation costs beside its bytes or blocks.
inline constexpr double fixed_ns = 1500;

} // namespace umadvisor::rules
