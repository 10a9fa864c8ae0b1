/// Findings on what happened inside the ranges that are looked at.
#pragma once

#include "analyzer/rules/finding.hpp"

#include <vector>

namespace umadvisor::advice {

/// Removes findings outside the ranges that the user selected, and from the other findings' edits the calls
/// outside them. Without a selection it does nothing. It runs after the rules, because these need the whole
/// run: work that was queued outside a range may be waited for inside.
void keep_inside(const rules::Profile& profile, std::vector<rules::Finding>& findings);

} // namespace umadvisor::advice
