/// All findings of a run: what rules report, once each, with savings that a replay bounds.
#pragma once

#include "analyzer/rules/finding.hpp"
#include "analyzer/timeline/spared.hpp"

#include <vector>

namespace umadvisor::advice {

struct Findings {
    /// Findings of all rules are ordered: failing calls, wrong results, then by time saved, then by memory
    /// saved.
    std::vector<rules::Finding> all;
    /// Reads that lines of Python wait for in every round, and that the replay gains nothing without.
    /// `saving_ns` is the time of the waits.
    std::vector<rules::Finding> hidden;
    /// These findings are faults of a known kind without a known price: their `saving_ns` is 0.
    std::vector<rules::Finding> unpriced;
    /// They are not shown: their edits would take away an order that is needed.
    std::vector<rules::Finding> stopped;
    /// All findings together save this: less than their sum where they mend the same time.
    double together_ns = 0;
    double together_at_least_ns = 0, together_at_most_ns = 0; ///< as of a finding
    timeline::Spared spared; ///< where the remedies that are replayed take time off the run
};

Findings find_all(const rules::Profile& profile, const rules::LineOf& line_of);

} // namespace umadvisor::advice
