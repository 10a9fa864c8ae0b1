#include "analyzer/reports/verdict_lines.hpp"

#include "analyzer/rules/unified/verdict_text.hpp"

namespace umadvisor::reports {

std::vector<VerdictLine> verdict_lines(const advice::Report& report, const ManagedLine& line) {
    std::vector<VerdictLine> lines;
    for (const auto& [kind, totals] : line.activity.verdicts.kinds())
        if (rules::holds(report.profile, kind, totals))
            lines.push_back({kind, totals, rules::verdict_text(kind, totals)});
    return lines;
}

} // namespace umadvisor::reports
