#include "analyzer/reports/resolved.hpp"

#include <utility>

namespace umadvisor::reports {

ResolvedPlace resolve_place(Report& report, std::uint64_t stack, std::string what) {
    ResolvedPlace at{std::move(what), stack, {}, {}};
    if (stack != 0) {
        at.place = report.symbolizer.line(stack);
        at.source = report.symbolizer.source_text(at.place);
    }
    return at;
}

std::string ResolvedPlace::text() const {
    return stack == 0 ? "no stack recorded" : place.text();
}

ResolvedFinding resolve(Report& report, const findings::Finding& finding) {
    ResolvedFinding resolved{finding, resolve_place(report, finding.stack, finding.summary), {}, {}};
    if (!finding.allocation_text.empty())
        resolved.memory = resolve_place(report, finding.allocation_stack,
                                        (finding.allocation_stack == 0 ? "memory: " : "allocated here: ") +
                                            finding.allocation_text);
    for (const auto& [what, stack] : finding.places)
        resolved.others.push_back(resolve_place(report, stack, what));
    return resolved;
}

} // namespace umadvisor::reports
