#include "analyzer/reports/html/parts.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace umadvisor::html {
namespace {

using Json = nlohmann::ordered_json;

/// Returns whether the text has `name` as a whole word.
bool has_word(std::string_view text, std::string_view name) {
    const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
        const std::size_t end = at + name.size();
        if ((at == 0 || !in_word(text[at - 1])) && (end == text.size() || !in_word(text[end])))
            return true;
    }
    return false;
}

std::string text_of(const Json& place) {
    return place.is_null() ? std::string() : place["text"].get<std::string>();
}

/// Table and name of the rows: the calls that the finding names, the copies of its line, its managed memory.
std::vector<std::pair<std::string_view, std::string>> rows_of(const Json& document, const Json& finding) {
    std::vector<std::pair<std::string_view, std::string>> rows;
    const auto summary = finding["summary"].get<std::string>();
    for (const Json& call : document["calls"])
        if (std::pair row(std::string_view("api"), call["call"].get<std::string>());
            has_word(summary, row.second) &&
            std::ranges::find(rows, row) == rows.end()) // by several entry points
            rows.emplace_back(std::move(row));
    const std::string line = text_of(finding["line"]);
    for (const Json& copy : document["copies"]) {
        const auto same = [&](const Json& at) {
            return !line.empty() && text_of(at["line"]) == line && at["direction"] == copy["direction"] &&
                   at["source_memory"] == copy["source_memory"] &&
                   at["destination_memory"] == copy["destination_memory"];
        };
        if (std::ranges::any_of(document["copy_lines"], same))
            rows.emplace_back("copies", fmt::format("{}, {} to {}{}", copy["direction"].get<std::string>(),
                                                    copy["source_memory"].get<std::string>(),
                                                    copy["destination_memory"].get<std::string>(),
                                                    copy["asynchronous"].get<bool>() ? ", asynchronous" : ""));
    }
    if (const Json& managed = document["managed"], &memory = finding["allocation"];
        !managed.is_null() && !memory.is_null())
        for (const Json& at : managed["allocations"])
            if (const std::string allocated = text_of(at["line"]);
                !allocated.empty() && allocated == text_of(memory["line"])) {
                rows.emplace_back("managed", allocated);
                break;
            }
    return rows;
}

} // namespace

std::string row_id(std::string_view table, std::string_view name) {
    std::string id = fmt::format("r-{}-", table);
    for (const char c : name)
        id += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' ? c : '-';
    return id;
}

void write_arithmetic(Markup& out, const Json& document, const Json& finding) {
    if (!finding.contains("spent_ns"))
        return;
    const auto spent = finding["spent_ns"].get<double>(), left = finding["left_ns"].get<double>(),
               saving = finding["saving_ns"].get<double>();
    out.element("p class=\"sum\"",
                fmt::format("These calls take {}; after the change {}; saves {}", text::time_text(spent),
                            text::time_text(left), text::time_text(saving)));
    constexpr double least_share = 0.01;
    if (const double other = spent - left - saving; other > least_share * spent)
        out.element("p class=\"mut\"",
                    fmt::format("The other {} run beside other work, or count in another finding.",
                                text::time_text(other)));
    std::string_view before = "In the tables: ";
    for (const auto& [table, name] : rows_of(document, finding)) {
        out.markup(before.front() == 'I' ? "<p class=\"mut\">" : "").markup(before);
        out.markup("<a href=\"#").markup(row_id(table, name)).markup("\">").text(name).markup("</a>");
        before = " · ";
    }
    if (before.front() != 'I')
        out.markup("</p>");
}

} // namespace umadvisor::html
