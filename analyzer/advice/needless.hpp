/// Remedies that an earlier finding's remedy makes needless.
#pragma once

#include "analyzer/rules/finding.hpp"

#include <vector>

namespace umadvisor::advice {

/// Adds a sentence to each finding whose calls are gone once an earlier finding's remedy is applied. `all` is
/// in the order of the report.
void note_needless(const rules::LineOf& line_of, std::vector<rules::Finding>& all);

} // namespace umadvisor::advice
