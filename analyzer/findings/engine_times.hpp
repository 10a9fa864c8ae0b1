/// How long the engines of the device take for what patterns of work consist of.
#pragma once

#include "analyzer/model/profile.hpp"

#include <vector>

namespace umadvisor::findings {

/// The program's device as the schedule has it. Measured on one H200: work starts 3 us after what it waited
/// for.
model::Machine machine_of(const model::Profile& profile);

struct EngineTimes {
    std::vector<double> ns; ///< of each work; copies of pageable memory as if it were pinned
    bool pageable = false;  ///< some copies are of pageable memory
};

/// Device times as measured where they were sampled; those of synchronous copies from their calls, without the
/// kernels that a download waits for; else bytes at the link's rate. Empty: a kernel was never measured.
EngineTimes engine_times(const model::Profile& profile, const model::WorkPattern& pattern);

/// What each operation costs beside its bytes or blocks.
inline constexpr double fixed_ns = 1500;

} // namespace umadvisor::findings
