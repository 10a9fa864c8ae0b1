/// Findings on what happened inside the ranges that are looked at.
#pragma once

#include "analyzer/rules/finding.hpp"

#include <vector>

namespace umadvisor::advice {

/// Where only some ranges are looked at, takes findings on what lies outside away, and what remedies would
/// change outside out of the others. Rules have seen all of the run: what was allocated, queued or waited for
/// outside matters inside.
void keep_inside(const rules::Profile& profile, std::vector<rules::Finding>& findings);

} // namespace umadvisor::advice
