#include "analyzer/reports/comparison/comparison.hpp"

#include "analyzer/reader/saturated.hpp"
#include "analyzer/rules/words.hpp"
#include "analyzer/text/terminal_text.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <tuple>

namespace umadvisor::reports {
namespace {

using DiffJson = nlohmann::ordered_json;
using Found = std::vector<const ReportedFinding*>;

/// Rule, file and function, which stay the same when code is added above.
using FindingKey = std::tuple<std::string_view, std::string_view, std::string_view>;

FindingKey key_of(const ReportedFinding& finding) {
    const symbols::CodePlace& line = finding.line;
    return {finding.rule, (line.file.empty() ? line.module : line.file).name(), line.function.view()};
}

double change_ns(const ReportedFinding& before, const ReportedFinding& after) {
    return std::fabs(after.saving_ns - before.saving_ns);
}

std::uint64_t change_bytes(const ReportedFinding& before, const ReportedFinding& after) {
    return std::max(before.saving_bytes, after.saving_bytes) -
           std::min(before.saving_bytes, after.saving_bytes);
}

/// Whether the saving changed by more than runs of one program differ by, and by enough to report.
bool differ(const ReportedFinding& before, const ReportedFinding& after) {
    const double change = change_ns(before, after);
    const std::uint64_t bytes = change_bytes(before, after);
    return (change > before.saving_ns / 10 && change > rules::least_saving_ns) ||
           (bytes > before.saving_bytes / 10 && bytes > rules::least_saving_bytes);
}

void sort_by_lines(Found& found) {
    std::ranges::stable_sort(found, [](const ReportedFinding* a, const ReportedFinding* b) {
        // Findings of several processes on one line are paired in the order of their savings.
        return std::tuple(a->line.line, -a->saving_ns, b->saving_bytes) <
               std::tuple(b->line.line, -b->saving_ns, a->saving_bytes);
    });
}

/// Puts the findings of lines that were left as they were first, in one order on both sides.
void match_lines(Found& old, Found& now, const MovedLine& moved) {
    auto old_rest = old.begin(), now_rest = now.begin();
    for (auto each = old.begin(); each != old.end(); ++each) {
        const int line = moved((*each)->line);
        const auto same = std::find_if(now_rest, now.end(), [line](const ReportedFinding* finding) {
            return line != 0 && finding->line.line == line;
        });
        if (same == now.end())
            continue;
        std::rotate(old_rest++, each, each + 1);
        std::rotate(now_rest++, same, same + 1);
    }
}

std::string saving_text(const ReportedFinding& finding) {
    if (finding.unpriced)
        return std::string(text::saving_unknown);
    return text::saving_text(finding.saving_ns, finding.saving_bytes);
}

std::string name_text(const ReportedFinding& finding) {
    return finding.rule + " " + (finding.title.empty() ? finding.name : finding.title);
}

std::string place_text(const ReportedFinding& finding) {
    return finding.line_text.empty() ? "unknown place" : finding.line_text;
}

std::string totals_text(const ReportedTotals& totals) {
    std::string text =
        fmt::format("{}, {} to save of {} · {}, {} in {}", text::count_text(totals.findings, "finding"),
                    text::time_text(totals.saving_ns), text::time_text(totals.net_ns),
                    text::count_text(totals.copies.count, "copy"), text::bytes_text(totals.copies.bytes),
                    text::time_text(totals.copies.time_ns));
    if (totals.managed) {
        text += fmt::format(" · managed: {} to the device, {} to the host",
                            text::bytes_text(totals.managed->bytes_to_device),
                            text::bytes_text(totals.managed->bytes_to_host));
        if (totals.managed->host_faults)
            text += ", " + text::count_text(*totals.managed->host_faults, "host fault");
        if (totals.moves_unknown != 0)
            text += fmt::format("; moves of {} not known", text::count_text(totals.moves_unknown, "report"));
    } else if (totals.moves_unknown != 0) {
        text += " · managed: moves not known";
    }
    return text;
}

std::uint64_t without(std::uint64_t whole, std::uint64_t part) {
    return whole - std::min(whole, part);
}

/// Calls of all threads are added up, so the parts of a program with several may be more than the run.
DiffJson where_json(const ReportedTotals& totals) {
    std::uint64_t calls = 0;
    for (const auto& [name, row] : totals.calls)
        reader::add_saturated(calls, row.time_ns);
    const std::uint64_t start = without(totals.recorded_ns, totals.net_ns);
    return {{"start_ns", start},
            {"copies_ns", totals.copies.time_ns},
            {"calls_ns", without(calls, reader::saturated_sum(start, totals.copies.time_ns))},
            {"own_ns", without(totals.recorded_ns, std::max(calls, start))}};
}

DiffJson row_json(const ReportedCalls& row) {
    return {{"count", row.count}, {"failed", row.failed}, {"time_ns", row.time_ns}};
}

DiffJson row_json(const ReportedCopies& row) {
    return {{"count", row.count}, {"bytes", row.bytes}, {"time_ns", row.time_ns}};
}

/// Rows of both sides, those whose time changed most first. `name` gives the keys that name a row.
template <class Key, class Row, class Name>
DiffJson rows_json(const std::map<Key, Row>& before, const std::map<Key, Row>& after, const Name& name) {
    std::map<Key, std::pair<Row, Row>> both;
    for (const auto& [key, row] : before)
        both[key].first = row;
    for (const auto& [key, row] : after)
        both[key].second = row;
    std::vector<const typename decltype(both)::value_type*> order;
    for (const auto& each : both)
        order.push_back(&each);
    std::ranges::stable_sort(order, std::ranges::greater{}, [](const auto* each) {
        const auto& [old, now] = each->second;
        return std::max(old.time_ns, now.time_ns) - std::min(old.time_ns, now.time_ns);
    });
    DiffJson list = DiffJson::array();
    for (const auto* const each : order) {
        DiffJson row = name(each->first);
        row["before"] = row_json(each->second.first);
        row["after"] = row_json(each->second.second);
        list.push_back(std::move(row));
    }
    return list;
}

DiffJson totals_json(const ComparedSide& side) {
    const ReportedTotals totals = side.runs.totals();
    DiffJson managed;
    if (totals.managed)
        managed = {
            {"bytes_to_device", totals.managed->bytes_to_device},
            {"bytes_to_host", totals.managed->bytes_to_host},
            {"host_faults", totals.managed->host_faults ? DiffJson(*totals.managed->host_faults) : DiffJson()}};
    return {{"file", side.file},
            {"reports", totals.reports},
            {"findings", totals.findings},
            {"saving_ns", totals.saving_ns},
            {"duration_ns", totals.duration_ns},
            {"copies", row_json(totals.copies)},
            {"managed", std::move(managed)},
            {"program", totals.program},
            {"net_ns", totals.net_ns},
            {"where", where_json(totals)}};
}

DiffJson compared_json(const ReportedFinding& finding) {
    DiffJson line;
    if (!finding.line_text.empty() || !finding.line.unknown())
        line = {{"text", finding.line_text},
                {"function", finding.line.function.string()},
                {"file", finding.line.file.string()},
                {"line", finding.line.line},
                {"module", finding.line.module.string()}};
    return {{"rule", finding.rule},
            {"name", finding.name},
            {"title", finding.title},
            {"line", std::move(line)},
            {"advice", finding.advice},
            {"saving_ns", finding.saving_ns},
            {"saving_bytes", finding.saving_bytes},
            {"unpriced", finding.unpriced},
            {"confidence", rules::name(finding.confidence)}};
}

DiffJson compared_json(const std::vector<ReportedFinding>& findings) {
    DiffJson list = DiffJson::array();
    for (const ReportedFinding& finding : findings)
        list.push_back(compared_json(finding));
    return list;
}

/// What could be saved is time that the run takes: more of it than before is worse.
std::ostream& write_head(std::ostream& out, char sign, const ReportedFinding& finding, bool worse) {
    return out << "  " << sign << " " << text::Styled{text::Style::title, name_text(finding)} << "   "
               << text::saving_lead(finding.saving_ns, finding.saving_bytes)
               << text::Styled{worse ? text::Style::worse : text::Style::saving, saving_text(finding)};
}

void write_compared(std::ostream& out, char sign, const std::vector<ReportedFinding>& findings) {
    for (const ReportedFinding& finding : findings)
        write_head(out, sign, finding, sign == '+') << "   " << place_text(finding) << "\n";
}

} // namespace

Comparison compare(const ReportedRuns& before, const ReportedRuns& after, const MovedLine& moved) {
    std::map<FindingKey, std::pair<Found, Found>> found;
    for (const ReportedFinding& finding : before.findings())
        found[key_of(finding)].first.push_back(&finding);
    for (const ReportedFinding& finding : after.findings())
        found[key_of(finding)].second.push_back(&finding);
    Comparison result;
    for (auto& [key, sides] : found) {
        auto& [old, now] = sides;
        sort_by_lines(old);
        sort_by_lines(now);
        if (moved)
            match_lines(old, now, moved);
        const std::size_t both = std::min(old.size(), now.size());
        for (std::size_t i = 0; i < both; ++i)
            (differ(*old[i], *now[i]) ? result.changed : result.same).push_back({*old[i], *now[i]});
        for (std::size_t i = both; i < old.size(); ++i)
            result.went.push_back(*old[i]);
        for (std::size_t i = both; i < now.size(); ++i)
            result.came.push_back(*now[i]);
    }
    const auto saving = [](const ReportedFinding& finding) {
        return std::pair(finding.saving_ns, finding.saving_bytes);
    };
    std::ranges::stable_sort(result.went, std::ranges::greater{}, saving);
    std::ranges::stable_sort(result.came, std::ranges::greater{}, saving);
    std::ranges::stable_sort(result.changed, std::ranges::greater{}, [](const Comparison::Pair& pair) {
        return std::pair(change_ns(pair.before, pair.after), change_bytes(pair.before, pair.after));
    });
    return result;
}

RunChange run_change(double before_ns, double after_ns) {
    if (before_ns <= 0 || after_ns <= 0)
        return {};
    constexpr double alike = 0.01; // of the time before: two runs of one program differ by as much
    const double more = after_ns - before_ns;
    RunChange change{more > alike * before_ns, more < -alike * before_ns, {}};
    change.text =
        change.slower || change.faster
            ? fmt::format("{} -> {}, {} {} ({})", text::time_text(before_ns), text::time_text(after_ns),
                          text::time_text(std::fabs(more)), change.slower ? "slower" : "faster",
                          text::percent_text(std::fabs(more) / before_ns))
            : fmt::format("{} -> {}, within 1%", text::time_text(before_ns), text::time_text(after_ns));
    return change;
}

void write_text(const ComparedSide& before, const ComparedSide& after, std::ostream& out) {
    const Comparison found = compare(before.runs, after.runs);
    out << "before: " << before.file << " · " << totals_text(before.runs.totals()) << "\n"
        << "after:  " << after.file << " · " << totals_text(after.runs.totals()) << "\n";
    if (const RunChange change = run_change(static_cast<double>(before.runs.totals().net_ns),
                                            static_cast<double>(after.runs.totals().net_ns));
        !change.text.empty())
        out << "run:    "
            << text::Styled{change.slower   ? text::Style::worse
                            : change.faster ? text::Style::saving
                                            : text::Style::plain,
                            change.text}
            << ", without the start of CUDA\n";
    out << "\n";
    write_compared(out, '-', found.went);
    write_compared(out, '+', found.came);
    for (const Comparison::Pair& pair : found.changed)
        write_head(out, '~', pair.after, pair.after.saving_ns > pair.before.saving_ns)
            << ", before " << saving_text(pair.before) << "   " << place_text(pair.after) << "\n";
    out << "  = " << found.same.size() << " unchanged\n";
}

nlohmann::ordered_json to_json(const ComparedSide& before, const ComparedSide& after) {
    const Comparison found = compare(before.runs, after.runs);
    const ReportedTotals old = before.runs.totals(), now = after.runs.totals();
    DiffJson changed = DiffJson::array();
    for (const Comparison::Pair& pair : found.changed)
        changed.push_back({{"before", compared_json(pair.before)}, {"after", compared_json(pair.after)}});
    return {{"schema", "umadvisor-diff-1"},
            {"before", totals_json(before)},
            {"after", totals_json(after)},
            {"went", compared_json(found.went)},
            {"came", compared_json(found.came)},
            {"changed", std::move(changed)},
            {"same", found.same.size()},
            {"calls", rows_json(old.calls, now.calls,
                                [](const std::string& call) {
                                    return DiffJson{{"call", call}};
                                })},
            {"copies", rows_json(old.copies_of_kind, now.copies_of_kind, [](const CopyKind& kind) {
                 return DiffJson{
                     {"direction", kind[0]}, {"source_memory", kind[1]}, {"destination_memory", kind[2]}};
             })}};
}

void write_text(const ReportedFinding& finding, std::ostream& out) {
    out << "  " << name_text(finding) << "   " << text::saving_lead(finding.saving_ns, finding.saving_bytes)
        << saving_text(finding) << " · confidence " << rules::name(finding.confidence) << "\n    "
        << place_text(finding) << "\n    do: " << finding.advice << "   (umadvisor explain " << finding.rule
        << ")\n";
}

} // namespace umadvisor::reports
