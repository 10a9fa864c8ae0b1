/// No remedy takes away an order that something needs.
#pragma once

#include "analyzer/findings/finding.hpp"
#include "analyzer/model/profile.hpp"

#include <vector>

namespace umadvisor::findings {

/// Reads the trace up to twice more if edits of `all` and `unpriced` may change the order of the run's work. A
/// finding whose edited run has a pair of uses without the order that the run gave them is removed and
/// returned, or its remedy says what keeps that order. Of findings beyond the 64 dearest the order stays
/// unknown.
std::vector<Finding> keep_order(const model::Profile& profile, const LineOf& line_of, std::vector<Finding>& all,
                                std::vector<Finding>& unpriced);

} // namespace umadvisor::findings
