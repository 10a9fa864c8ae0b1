/// Edits for managed memory: kernels and the host's code take less time, and useless prefetches are removed.
#pragma once

#include "analyzer/rules/profile.hpp"
#include "analyzer/timeline/edit.hpp"

#include <algorithm>
#include <cstdint>
#include <set>

namespace umadvisor::rules {

/// The time that a remedy saves in all calls together, nanoseconds.
struct Spared {
    double device_ns = 0;   ///< work of kernels
    double host_ns = 0;     ///< the host's code behind the waits for them
    bool at_once = false;   ///< host and device wait for each other: only the larger of both savings counts
    double prefetch_ns = 0; ///< prefetches that go
    std::uint64_t prefetches = 0; ///< so many

    double all_ns() const {
        return prefetch_ns + (at_once ? std::max(device_ns, host_ns) : device_ns + host_ns);
    }
};

/// Where, by the stacks of the calls.
struct WorkSites {
    std::set<ids::StackId> launches{}, prefetches{};
};

/// Launches and the host's code after the waits for them have less work, each by the same share; some
/// prefetches are removed. No changes where the clock knows of no such calls.
timeline::Edit lighter_work(const Profile& profile, const WorkSites& sites, const Spared& spared);

} // namespace umadvisor::rules
