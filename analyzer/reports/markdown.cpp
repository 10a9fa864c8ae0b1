#include "analyzer/reports/markdown.hpp"

#include "analyzer/findings/words.hpp"
#include "analyzer/reports/action_text.hpp"
#include "analyzer/reports/completeness_text.hpp"
#include "analyzer/reports/notice_text.hpp"

#include <ostream>

namespace umadvisor::reports {
namespace {

/// Names and paths may hold what Markdown or HTML would take for its own.
std::string plain(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '\n' || c == '\r') {
            result += ' ';
            continue;
        }
        if (std::string_view("\\`*_[]<>|#~&").find(c) != std::string_view::npos)
            result += '\\';
        result += c;
    }
    return result;
}

/// What is between backticks stands as it is, but for backticks.
std::string code(std::string_view text) {
    std::string result = "`";
    for (const char c : text)
        result += c == '`' ? '\'' : c == '\n' || c == '\r' ? ' ' : c == '|' ? '/' : c;
    return result + "`";
}

std::string place_markdown(Report& report, std::uint64_t stack) {
    return stack == 0 ? "no stack recorded" : code(report.symbolizer.line(stack).text());
}

void write_place_item(Report& report, std::uint64_t stack, std::string_view what, std::ostream& out) {
    out << "- " << place_markdown(report, stack) << ": " << plain(what) << "\n";
    const std::string source = stack == 0 ? "" : report.symbolizer.source_text(report.symbolizer.line(stack));
    if (!source.empty())
        out << "  " << code(source) << "\n";
}

void write_section(Report& report, const findings::Finding& finding, std::ostream& out) {
    out << "\n## " << finding.rule->id << " " << plain(finding.title) << "\n\n";
    write_place_item(report, finding.stack, finding.summary, out);
    if (finding.allocation_stack != 0)
        write_place_item(report, finding.allocation_stack, "allocated here: " + finding.allocation_text, out);
    else if (!finding.allocation_text.empty())
        out << "- memory: " << plain(finding.allocation_text) << "\n";
    for (const auto& [what, stack] : finding.places)
        write_place_item(report, stack, what, out);
    for (const std::string& detail : finding.details)
        out << "- " << plain(detail) << "\n";
    out << "\n**Write:** " << plain(finding.advice) << "\n\n**"
        << findings::saving_sentence(finding.saving_ns, finding.saving_bytes) << "** (confidence "
        << name(finding.confidence) << "): " << plain(finding.basis) << "\n";
}

void write_actions_section(Report& report, std::ostream& out) {
    if (!has_actions(report))
        return;
    out << "\n## What umadvisor did\n\n";
    for (const ActionLine& line : action_lines(report)) {
        out << "- " << action_title(line.kind) << ": "
            << plain(action_text(report, line.totals, line.wasted, line.gain_ns)) << " (" << plain(line.basis)
            << ")\n";
        for (const ActionPlace* const place : told_places(line))
            out << "  - " << place_markdown(report, place->stack) << ": "
                << plain(action_text(report, place->totals, place->wasted, place->gain_ns)) << "\n";
    }
    for (const trace::Notice& notice : report.trace.dictionary.notices)
        if (is_action_notice(notice))
            out << "- " << plain(notice_text(report, notice)) << "\n";
}

} // namespace

void write_markdown(Report& report, std::ostream& out) {
    out << "# " << plain(headline(report)) << "\n";
    for (const std::string& line : completeness_lines(report.trace))
        out << "\n> " << plain(line) << "\n";
    if (report.findings.empty()) {
        out << "\n" << plain(report.why_empty()) << "\n";
        return write_actions_section(report, out);
    }
    out << "\n| rule | finding | line | saves about | confidence |\n|---|---|---|---|---|\n";
    for (const findings::Finding& finding : report.findings)
        out << "| " << finding.rule->id << " | " << plain(finding.title) << " | "
            << place_markdown(report, finding.stack) << " | "
            << findings::saving_text(finding.saving_ns, finding.saving_bytes) << " | "
            << name(finding.confidence) << " |\n";
    for (const findings::Finding& finding : report.findings)
        write_section(report, finding, out);
    write_actions_section(report, out);
    for (const std::string& note : report.symbolizer.source_notes())
        out << "\n> " << plain(note) << "\n";
}

} // namespace umadvisor::reports
