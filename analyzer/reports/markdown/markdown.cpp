#include "analyzer/reports/markdown/markdown.hpp"

#include "analyzer/advice/resolved.hpp"
#include "analyzer/reports/completeness_text.hpp"
#include "analyzer/reports/notice_text.hpp"
#include "analyzer/reports/text/action_text.hpp"
#include "analyzer/reports/text/text.hpp"
#include "analyzer/rules/words.hpp"

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

std::string place_markdown(const advice::ResolvedPlace& at) {
    return at.stack.known() ? code(at.text()) : at.text();
}

void write_place_item(const advice::ResolvedPlace& at, std::ostream& out) {
    out << "- " << place_markdown(at) << ": " << plain(at.what) << "\n";
    if (!at.source.empty())
        out << "  " << code(at.source) << "\n";
}

void write_section(const advice::ResolvedFinding& resolved, std::ostream& out) {
    const rules::Finding& finding = resolved.finding;
    out << "\n## " << finding.rule->id << " " << plain(finding.title) << "\n\n";
    write_place_item(resolved.line, out);
    if (resolved.memory && resolved.memory->stack.known())
        write_place_item(*resolved.memory, out);
    else if (resolved.memory)
        out << "- " << plain(resolved.memory->what) << "\n";
    for (const advice::ResolvedPlace& each : resolved.others)
        write_place_item(each, out);
    for (const std::string& detail : finding.details)
        out << "- " << plain(detail) << "\n";
    out << "\n**Do:** " << plain(finding.advice) << "\n\n**"
        << (finding.unpriced ? "Saving" : text::saving_sentence(finding.saving_ns, finding.saving_bytes))
        << "** (confidence " << name(finding.confidence) << "): " << plain(finding.basis) << "\n";
}

void write_actions_section(advice::Report& report, std::ostream& out) {
    if (!has_actions(report))
        return;
    out << "\n## What umadvisor did\n\n";
    for (const ActionLine& line : action_lines(report)) {
        out << "- " << tables::text_of(line.kind).title << ": "
            << plain(action_text(report, line.totals, line.wasted, line.gain_ns)) << " (" << plain(line.basis)
            << ")\n";
        for (const ActionPlace* const place : known_places(line))
            out << "  - " << place_markdown(advice::resolve_place(report, place->stack, "")) << ": "
                << plain(action_text(report, place->totals, place->wasted, place->gain_ns)) << "\n";
    }
    for (const trace::Notice& notice : report.trace.dictionary.notices)
        if (is_action_notice(notice))
            out << "- " << plain(notice_text(report, notice)) << "\n";
}

} // namespace

void write_markdown(advice::Report& report, std::ostream& out) {
    out << "# " << plain(headline(report)) << "\n";
    for (const std::string& line : completeness_lines(report.trace))
        out << "\n> " << plain(line) << "\n";
    if (report.findings.empty())
        out << "\n" << plain(report.why_empty()) << "\n";
    if (report.findings.empty() && report.unpriced.empty())
        return write_actions_section(report, out);
    out << "\n| rule | finding | line | saves about | confidence |\n|---|---|---|---|---|\n";
    std::vector<advice::ResolvedFinding> all;
    for (const std::vector<rules::Finding>* const list : {&report.findings, &report.unpriced})
        for (const rules::Finding& finding : *list)
            all.push_back(resolve(report, finding));
    for (const advice::ResolvedFinding& each : all)
        out << "| " << each.finding.rule->id << " | " << plain(each.finding.title) << " | "
            << place_markdown(each.line) << " | "
            << (each.finding.unpriced ? "not known"
                                      : text::saving_text(each.finding.saving_ns, each.finding.saving_bytes))
            << " | " << name(each.finding.confidence) << " |\n";
    for (const advice::ResolvedFinding& each : all)
        write_section(each, out);
    write_actions_section(report, out);
    for (const std::string& note : report.symbolizer.source_notes())
        out << "\n> " << plain(note) << "\n";
}

} // namespace umadvisor::reports
