/// What could be otherwise in a run.
#pragma once

#include "analyzer/model/waits.hpp"

#include <cstdint>
#include <vector>

namespace umadvisor::timeline {

/// What becomes of the calls of one call site.
struct Change {
    enum class What : std::uint8_t {
        gone,         ///< neither call nor work
        asynchronous, ///< the call returns without a wait
        faster,       ///< the work takes `fixed_ns` and `ns_per_byte`, where that is less than it took
        cheaper,      ///< the call's own time is `fixed_ns`, where that is less, and it waits for nothing
    };
    model::CallSite site;
    What what{};
    double share = 1;       ///< of these calls, spread evenly; the others stay
    std::uint64_t kept = 0; ///< this many at the start stay in any case
    double fixed_ns = 0, ns_per_byte = 0;
    double added_ns = 0;      ///< that the host needs once, before the first of them
    double added_each_ns = 0; ///< and before each
};

/// All changes that one remedy makes.
struct Edit {
    std::vector<Change> changes;
};

} // namespace umadvisor::timeline
