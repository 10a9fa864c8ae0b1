/// Verdicts on the allocations of one source line, added up.
#pragma once

#include "analyzer/managed/verdict.hpp"

#include <cstdint>
#include <map>
#include <set>

namespace umadvisor::managed {

struct VerdictTotals {
    std::uint64_t allocations = 0, times = 0, bytes = 0;
    std::uint64_t new_bytes = 0, taken_back = 0, prefetched_back = 0, written = 0;
    std::uint64_t pulls = 0, host_ticks = 0, same_part = 0;
    std::set<facts::KernelSite> kernels; ///< these and what follows: a few of them
    std::set<std::uint64_t> host_codes;  ///< frames
    std::set<ids::StackId> prefetches;   ///< stacks
};

class VerdictTally {
public:
    void add(const Verdict& verdict);
    void add(const VerdictTally& other);

    const std::map<VerdictKind, VerdictTotals>& kinds() const { return kinds_; }

private:
    std::map<VerdictKind, VerdictTotals> kinds_;
};

} // namespace umadvisor::managed
