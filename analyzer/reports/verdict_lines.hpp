/// Verdicts on the managed memory of one allocating line, in words and with their evidence, as both reports
/// show them.
#pragma once

#include "analyzer/reports/managed_lines.hpp"

#include <string>
#include <vector>

namespace umadvisor::reports {

struct VerdictLine {
    managed::VerdictKind kind{};
    managed::VerdictTotals totals;
    std::string text; ///< what was seen, in one sentence
};

/// Without those that the symbols take back.
std::vector<VerdictLine> verdict_lines(const advice::Report& report, const ManagedLine& line);

} // namespace umadvisor::reports
