#include "analyzer/reports/verdict_lines.hpp"

#include "analyzer/findings/verdict_text.hpp"

namespace umadvisor::reports {

std::vector<VerdictLine> verdict_lines(const Report& report, const ManagedLine& line) {
    std::vector<VerdictLine> lines;
    for (const auto& [kind, totals] : line.activity.verdicts.kinds())
        if (findings::holds(report.profile, kind, totals))
            lines.push_back({kind, totals, findings::verdict_text(kind, totals)});
    return lines;
}

} // namespace umadvisor::reports
