#include "analyzer/findings/words.hpp"
#include "analyzer/html/parts.hpp"
#include "analyzer/reports/stats.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace umadvisor::html {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_rows = 500;

/// A number as a person reads it: by the unit that its key ends in.
std::string cell_text(std::string_view key, double value) {
    if (key.ends_with("_ns"))
        return findings::time_text(value);
    if (key.ends_with("bytes") || key.ends_with("_bytes") || key.starts_with("bytes"))
        return findings::bytes_text(value);
    if (key.ends_with("bytes_per_s"))
        return findings::rate_text(value);
    std::string text = std::to_string(value);
    if (text.find('.') != std::string::npos) {
        constexpr std::size_t decimals = 3;
        text.resize(std::min(text.size(), text.find('.') + decimals));
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.')
            text.pop_back();
    }
    return text;
}

/// "Total Time (ns)" without its unit, which the cells have.
std::string_view title_of(std::string_view title) {
    const std::size_t unit = title.rfind(" (");
    return unit == std::string_view::npos ? title : title.substr(0, unit);
}

bool is_number(const reports::Table& table, std::size_t column) {
    return std::ranges::any_of(table.rows, [column](const auto& row) {
        return std::holds_alternative<double>(row[column]) ||
               std::holds_alternative<std::uint64_t>(row[column]);
    });
}

void write_cell(Markup& out, std::string_view key, const reports::Cell& cell, bool number) {
    if (const auto* const text = std::get_if<std::string>(&cell)) {
        out.element(number ? "td class=\"r\"" : "td class=\"m\"", *text);
        return;
    }
    if (std::holds_alternative<std::monostate>(cell)) {
        out.markup(number ? "<td class=\"r z\">–</td>" : "<td class=\"z\"></td>");
        return;
    }
    const double value = std::holds_alternative<double>(cell)
                             ? std::get<double>(cell)
                             : static_cast<double>(std::get<std::uint64_t>(cell));
    out.markup(value == 0 ? "<td class=\"r z\" data-v=\"" : "<td class=\"r\" data-v=\"")
        .text(Json(value).dump())
        .markup("\">");
    out.text(cell_text(key, value)).markup("</td>");
}

void write_table(Markup& out, const reports::Table& table) {
    const std::string name(table.name);
    out.markup("<div class=\"th\"><h3 id=\"h-t-").text(name).markup("\">").text(table.title).markup("</h3>");
    out.element("span class=\"mut\"", findings::count_text(table.rows.size(), "row"));
    out.markup("<div class=\"ctl js\"><label class=\"vh\" for=\"q-")
        .text(name)
        .markup("\">Filter ")
        .text(table.title);
    out.markup("</label><input type=\"search\" placeholder=\"filter\" id=\"q-")
        .text(name)
        .markup("\" data-filter=\"t-")
        .text(name);
    out.markup("\"><button class=\"btn\" data-csv=\"t-")
        .text(name)
        .markup("\">Copy as CSV</button></div></div>");
    out.markup("<div class=\"panel tw\" tabindex=\"0\" role=\"region\" aria-labelledby=\"h-t-").text(name);
    out.markup("\"><table class=\"d\" id=\"t-").text(name).markup("\"><thead><tr>");
    std::vector<bool> numbers;
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
        numbers.push_back(is_number(table, column));
        out.markup(numbers[column] ? "<th scope=\"col\" class=\"r\" data-key=\""
                                   : "<th scope=\"col\" data-key=\"");
        out.text(table.columns[column].key)
            .markup("\">")
            .text(title_of(table.columns[column].title))
            .markup("</th>");
    }
    out.markup("</tr></thead><tbody>");
    for (std::size_t i = 0; i < std::min(table.rows.size(), most_rows); ++i) {
        out.markup("<tr>");
        for (std::size_t column = 0; column < table.columns.size(); ++column)
            write_cell(out, table.columns[column].key, table.rows[i][column], numbers[column]);
        out.markup("</tr>");
    }
    out.markup("</tbody></table></div>");
    if (table.rows.size() > most_rows)
        out.element("p class=\"more\"", std::to_string(table.rows.size() - most_rows) +
                                            " more rows: umadvisor stats --table " + name);
}

} // namespace

void write_tables(Markup& out, reports::Report& report) {
    out.markup(
        "<section id=\"tables\" aria-labelledby=\"h-tables\"><div class=\"sh\"><h2 id=\"h-tables\">Tables</h2>"
        "<span class=\"mut\">as umadvisor stats has them</span></div>");
    for (const std::string_view name : {"allocations", "managed", "api", "copies", "kernels", "copy-sizes"}) {
        const reports::Table table = reports::stats_table(report, name);
        if (!table.rows.empty())
            write_table(out, table);
    }
    out.markup("</section>");
}

} // namespace umadvisor::html
