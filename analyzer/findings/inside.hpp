/// Findings on what happened inside the ranges that are looked at.
#pragma once

#include "analyzer/findings/finding.hpp"

#include <vector>

namespace umadvisor::findings {

/// Where only some ranges are looked at, takes findings on what lies outside away, and what remedies would
/// change outside out of the others. Rules have seen all of the run: what was allocated, queued or waited for
/// outside matters inside.
void keep_inside(const model::Profile& profile, std::vector<Finding>& findings);

/// The saving of `finding`, which rests on all moves of its memory, becomes that of the moves inside.
void take_inside_part(const model::Profile& profile, const model::ManagedSiteActivity& memory,
                      Finding& finding);

} // namespace umadvisor::findings
