#include "analyzer/advice/selection.hpp"

#include "analyzer/reader/error.hpp"
#include "analyzer/reader/whole_file.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace umadvisor::advice {
namespace {

const rules::Rule& rule_called(std::string_view text) {
    if (const rules::Rule* const rule = rules::find_rule(text))
        return *rule;
    std::string known;
    for (const rules::Rule* const rule : rules::rules)
        known += fmt::format("{}{} {}", known.empty() ? "" : ", ", rule->id, rule->name);
    throw reader::Error(fmt::format("there is no rule {}; rules are: {}", text, known));
}

bool ends_path(std::string_view path, std::string_view end) {
    return path.ends_with(end) &&
           (path.size() == end.size() || end.starts_with('/') || path[path.size() - end.size() - 1] == '/');
}

bool lies_at(const FindingPattern& pattern, const symbols::CodePlace& place) {
    return ends_path(place.file.view(), pattern.file) && (pattern.line == 0 || pattern.line == place.line);
}

bool matches_any(const std::vector<FindingPattern>& patterns, std::string_view rule,
                 std::span<const symbols::CodePlace> places) {
    return std::ranges::any_of(patterns, [&](const FindingPattern& pattern) {
        return pattern.rule->id == rule &&
               (pattern.file.empty() || std::ranges::any_of(places, [&](const symbols::CodePlace& place) {
                    return lies_at(pattern, place);
                }));
    });
}

std::vector<symbols::CodePlace> places_of(const rules::Finding& finding, Report& report) {
    std::vector<symbols::CodePlace> places;
    for (const ids::StackId stack : {finding.stack, finding.allocation_stack})
        if (stack.known())
            places.push_back(report.symbolizer.line(stack));
    return places;
}

} // namespace

FindingPattern parse_pattern(std::string_view text) {
    const std::size_t at = text.find('@');
    FindingPattern pattern{&rule_called(text.substr(0, at)), "", 0};
    if (at == std::string_view::npos)
        return pattern;
    pattern.file = text.substr(at + 1);
    const std::size_t colon = pattern.file.rfind(':');
    if (colon != std::string::npos) {
        const char* const end = pattern.file.data() + pattern.file.size();
        const auto [stop, error] = std::from_chars(pattern.file.data() + colon + 1, end, pattern.line);
        if (error == std::errc() && stop == end && pattern.line > 0)
            pattern.file.resize(colon);
        else
            pattern.line = 0; // a colon of the name's own
    }
    if (pattern.file.empty())
        throw reader::Error(
            fmt::format("{}: a file must follow the @, as in {}@upload.cu:41", text, pattern.rule->id));
    return pattern;
}

std::vector<FindingPattern> read_suppressions(const std::string& path) {
    constexpr std::uint64_t most_bytes = 16 << 20;
    std::istringstream file(reader::read_whole_file(path, most_bytes));
    std::vector<FindingPattern> patterns;
    std::size_t number = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        constexpr const char* blank = " \t\r";
        line.erase(line.find_last_not_of(blank) + 1);
        line.erase(0, line.find_first_not_of(blank));
        if (line.empty() || line.front() == '#')
            continue;
        try {
            patterns.push_back(parse_pattern(line));
        } catch (const reader::Error& error) {
            throw reader::Error(fmt::format("{}:{}: {}", path, number, error.what()));
        }
    }
    return patterns;
}

bool Selection::keeps(std::string_view rule, std::span<const symbols::CodePlace> places) const {
    return (only.empty() || matches_any(only, rule, places)) && !matches_any(ignored, rule, places);
}

void Selection::apply(Report& report) const {
    for (std::vector<rules::Finding>* const list : {&report.findings, &report.unpriced})
        report.left_out += std::erase_if(*list, [&](const rules::Finding& finding) {
            return !keeps(finding.rule->id, places_of(finding, report));
        });
}

} // namespace umadvisor::advice
