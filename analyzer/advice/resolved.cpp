#include "analyzer/advice/resolved.hpp"

#include "analyzer/advice/verify_command.hpp"

#include <utility>

namespace umadvisor::advice {

ResolvedPlace resolve_place(Report& report, ids::StackId stack, std::string what) {
    ResolvedPlace at{std::move(what), stack, {}, {}};
    if (stack.known()) {
        at.place = report.symbolizer.line(stack);
        at.source = report.symbolizer.source_text(at.place);
        if (at.what.starts_with("the host") && at.place.file.empty() && at.place.function.empty())
            at.what += " (code of a library: its caller is not recorded)";
    }
    return at;
}

std::string ResolvedPlace::text() const {
    return stack.known() ? place.text() : "no stack recorded";
}

namespace {

/// Code to insert is CUDA's: at a line of Python the advice in words is all there is.
std::vector<ResolvedEdit> remedy_of(Report& report, const rules::Finding& finding, const ResolvedPlace& line) {
    std::vector<ResolvedEdit> remedy;
    for (const rules::CodeEdit& edit : finding.code_edits) {
        ResolvedPlace at = resolve_place(report, edit.stack, "");
        if (at.place.language == symbols::Language::python)
            return {{rules::EditKind::rework, finding.advice, line}};
        remedy.push_back({edit.kind, edit.text, std::move(at)});
    }
    if (remedy.empty())
        remedy.push_back({rules::EditKind::rework, finding.advice, line});
    return remedy;
}

/// The line of a Python library that makes the call, where the program's line calls the library.
std::string called_in_library(Report& report, const ResolvedPlace& line) {
    if (line.place.language != symbols::Language::python)
        return {};
    for (const symbols::CodePlace& place : report.symbolizer.places(line.stack))
        if (place.language == symbols::Language::python)
            return place.file == line.place.file ? "" : "; the call is in " + place.text();
    return {};
}

} // namespace

ResolvedFinding resolve(Report& report, const rules::Finding& finding) {
    ResolvedFinding resolved{.finding = finding,
                             .line = resolve_place(report, finding.stack, finding.summary),
                             .memory = {},
                             .others = {},
                             .remedy = {},
                             .verify = verify_command(report, *finding.rule)};
    resolved.remedy = remedy_of(report, finding, resolved.line);
    if (!finding.allocation_text.empty())
        resolved.memory = resolve_place(report, finding.allocation_stack,
                                        (finding.allocation_stack.known() ? "allocated here: " : "memory: ") +
                                            finding.allocation_text);
    resolved.line.what += called_in_library(report, resolved.line);
    for (const auto& [what, stack] : finding.places)
        if (ResolvedPlace at = resolve_place(report, stack, what);
            finding.rule->urgency != rules::Urgency::saving || at.text() != resolved.line.text())
            resolved.others.push_back(std::move(at));
    return resolved;
}

} // namespace umadvisor::advice
