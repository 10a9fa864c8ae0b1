/// Checks that no remedy removes an order between two uses that the program needs.
#pragma once

#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/profile.hpp"

#include <vector>

namespace umadvisor::advice {

/// Reads the trace up to twice more if edits of `all` and `unpriced` may change the order of the run's work. A
/// finding whose edited run has a pair of uses without the order that the run gave them is removed and
/// returned, or its remedy says what keeps that order. Of findings beyond the 64 dearest the order stays
/// unknown.
std::vector<rules::Finding> keep_order(const rules::Profile& profile, const rules::LineOf& line_of,
                                       std::vector<rules::Finding>& all, std::vector<rules::Finding>& unpriced);

} // namespace umadvisor::advice
