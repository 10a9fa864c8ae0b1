#include "analyzer/cli/prove/named_finding.hpp"

#include "analyzer/reports/comparison/comparison.hpp"
#include "analyzer/text/figures.hpp"

#include <nlohmann/json.hpp>
#include <ostream>

namespace umadvisor::cli {
namespace {

using Fate = NamedFinding::Fate;

/// Returns whether `text`, which stands above a section of the diff, names this finding of the old run.
bool names(const std::string& text, const reports::ReportedFinding& finding) {
    return !finding.line_text.empty() && text.starts_with(finding.rule + " ") &&
           text.find(fmt::format(", {}: ", finding.line_text)) != text.npos;
}

NamedFinding judge(const std::string& text, const reports::Comparison& found) {
    NamedFinding finding{text};
    const auto is_named = [&](const reports::ReportedFinding& old) {
        if (!names(text, old))
            return false;
        finding.name = fmt::format("{} {}, {}", old.rule, old.title, old.line_text);
        return true;
    };
    for (const reports::ReportedFinding& old : found.went)
        if (is_named(old))
            finding.fate = Fate::gone;
    for (const auto* const both : {&found.changed, &found.same})
        for (const auto& [old, now] : *both)
            if (is_named(old)) {
                finding.fate = Fate::left;
                finding.saving_ns += now.saving_ns;
                finding.saving_bytes += now.saving_bytes;
                finding.unpriced = finding.unpriced || now.unpriced;
            }
    return finding;
}

const char* state(const NamedFinding& finding) {
    switch (finding.fate) {
    case Fate::unseen:
        return "not found before";
    case Fate::gone:
        return "gone";
    case Fate::left:
        return "still there";
    case Fate::unknown:
        break;
    }
    return "not known";
}

} // namespace

std::vector<NamedFinding> named_findings(const DiffFile& diff,
                                         const std::optional<reports::ReportedRuns>& before,
                                         const std::optional<reports::ReportedRuns>& after) {
    std::vector<NamedFinding> all;
    if (!before || !after) {
        for (const std::string& text : diff.findings())
            all.push_back({text, Fate::unknown});
        return all;
    }
    const reports::Comparison found =
        compare(*before, *after, [&diff](const symbols::CodePlace& place) { return diff.moved(place); });
    for (const std::string& text : diff.findings())
        all.push_back(judge(text, found));
    return all;
}

void write_text(const NamedFinding& finding, std::ostream& out) {
    out << "finding:  " << state(finding);
    if (finding.fate == Fate::left && finding.unpriced)
        out << ", " << text::saving_unknown;
    else if (finding.fate == Fate::left)
        out << ", " << text::saving_lead(finding.saving_ns, finding.saving_bytes)
            << text::saving_text(finding.saving_ns, finding.saving_bytes);
    if (finding.fate == Fate::unknown)
        out << ", since a recorded run failed";
    out << ": " << finding.name << "\n";
}

nlohmann::ordered_json to_json(const NamedFinding& finding) {
    nlohmann::ordered_json object{{"finding", finding.name}, {"state", state(finding)}};
    if (finding.fate == Fate::left) {
        object["saving_ns"] = finding.saving_ns;
        object["saving_bytes"] = finding.saving_bytes;
        object["unpriced"] = finding.unpriced;
    }
    return object;
}

} // namespace umadvisor::cli
