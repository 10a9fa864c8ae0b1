#include "analyzer/reports/html/parts.hpp"
#include "analyzer/reports/stats/stats.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

namespace umadvisor::html {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_rows = 500;

/// The unit that a column's title ends in: "ns" of "Total Time (ns)".
std::string_view unit_of(std::string_view title) {
    const std::size_t at = title.rfind(" (");
    return at == std::string_view::npos ? std::string_view() : title.substr(at + 2, title.size() - at - 3);
}

/// A number as a person reads it.
std::string cell_text(std::string_view unit, double value) {
    if (unit == "ns")
        return text::time_text(value);
    if (unit == "B")
        return text::bytes_text(value);
    if (unit == "B/s")
        return text::rate_text(value);
    if (unit == "%")
        return value > 0 && value < 0.05 ? "<0.1%" : text::percent_text(value / 100);
    std::string text = std::to_string(value);
    constexpr std::size_t decimals = 3;
    text.resize(std::min(text.size(), text.find('.') + decimals));
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.')
        text.pop_back();
    return text;
}

double number_of(const text::Cell& cell) {
    return std::holds_alternative<double>(cell)          ? std::get<double>(cell)
           : std::holds_alternative<std::uint64_t>(cell) ? static_cast<double>(std::get<std::uint64_t>(cell))
                                                         : 0;
}

/// The unit in which the largest number of some columns is read, for all their cells.
struct OneUnit {
    double scale = 1;
    std::string_view name;
    int decimals = 0;

    OneUnit(std::string_view unit, double largest) {
        struct Step {
            std::string_view of, name;
            double scale;
        };
        constexpr Step steps[] = {{"ns", "s", 1e9},      {"ns", "ms", 1e6},     {"ns", "us", 1e3},
                                  {"ns", "ns", 1},       {"B", "GiB", 1 << 30}, {"B", "MiB", 1 << 20},
                                  {"B", "KiB", 1 << 10}, {"B", "B", 1}};
        for (const Step& step : steps)
            if (step.of == unit && (largest >= step.scale || step.scale == 1)) {
                scale = step.scale;
                name = step.name;
                decimals = scale == 1 ? 0 : largest >= 100 * scale ? 2 : 3;
                return;
            }
    }
    std::string text(double value) const {
        return fmt::format("{:.{}f}{}{}", value / scale, decimals, name.empty() ? "" : " ", name);
    }
};

/// Without the unit, which the cells have. A share stays apart from what it is of, and bytes from their count.
std::string title_of(std::string_view title) {
    const std::string_view unit = unit_of(title);
    const std::string name(title.substr(0, unit.empty() ? title.size() : title.rfind(" (")));
    if (unit == "B" && name == "Live at End")
        return "Bytes at End";
    if (unit == "B" && name == "In Flight")
        return "Bytes in Flight";
    return unit == "%" ? "Share" : name;
}

bool is_number(const text::Table& table, std::size_t column) {
    return std::ranges::any_of(table.rows, [column](const auto& row) {
        return std::holds_alternative<double>(row[column]) ||
               std::holds_alternative<std::uint64_t>(row[column]);
    });
}

/// A column of which the run has nothing is left out.
bool is_empty(const text::Table& table, std::size_t column) {
    return std::ranges::all_of(
        table.rows, [column](const auto& row) { return std::holds_alternative<std::monostate>(row[column]); });
}

/// Without what stands in the brackets of templates, which makes names of kernels longer than a line.
std::string folded(std::string_view name) {
    constexpr std::size_t short_enough = 12; // as long as what stands for it, or not much longer
    std::string result;
    std::size_t depth = 0, begin = 0;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const bool opens = name[i] == '<' && i > 0 && name[i - 1] != ' ' && name[i - 1] != '<';
        if ((opens || depth > 0) && name[i] == '<' && depth++ == 0)
            begin = i;
        else if (name[i] == '>' && depth > 0 && name[i - 1] != '-' && --depth == 0)
            result += i - begin < short_enough ? std::string(name.substr(begin, i - begin + 1)) : "<…>";
        else if (depth == 0)
            result += name[i];
    }
    return depth == 0 ? result : std::string(name); // an operator's, or cut
}

/// A cell of a table that compares two runs.
void write_compared_cell(Markup& out, const OneUnit& unit, double value, bool change) {
    const bool none =
        value == 0 || (change && std::abs(value) / unit.scale * std::pow(10, unit.decimals) < 0.5);
    const std::string_view kind = none ? " z" : !change ? "" : value > 0 ? " worse" : " ok";
    out.markup("<td class=\"r").markup(kind).markup("\" data-v=\"").text(Json(value).dump()).markup("\">");
    if (none) // or less than the unit shows
        out.markup("0");
    else
        out.text(unit.text(change ? std::abs(value) : value) + (!change     ? ""
                                                                : value > 0 ? " slower"
                                                                            : " faster"));
    out.markup("</td>");
}

void write_cell(Markup& out, std::string_view unit, const text::Cell& cell, bool number) {
    if (const auto* const text = std::get_if<std::string>(&cell)) {
        std::string brief = folded(*text);
        if (brief == "at_least") // a basis, by the name that other formats have
            brief = "at least";
        if (brief == *text)
            out.element(number ? "td class=\"r\"" : "td class=\"m\"", brief);
        else
            out.markup("<td class=\"m\" title=\"")
                .text(*text)
                .markup("\" data-full=\"")
                .text(*text)
                .markup("\">")
                .text(brief)
                .markup("</td>");
        return;
    }
    if (std::holds_alternative<std::monostate>(cell)) {
        out.markup(number ? "<td class=\"r z\">–</td>" : "<td class=\"z\"></td>");
        return;
    }
    const double value = number_of(cell);
    out.markup(value == 0 ? "<td class=\"r z\" data-v=\"" : "<td class=\"r\" data-v=\"")
        .text(Json(value).dump())
        .markup("\">");
    out.text(cell_text(unit, value)).markup("</td>");
}

} // namespace

void begin_table(Markup& out, const std::string& name, std::string_view title, const std::string& words) {
    out.markup("<div class=\"th\"><h3 id=\"h-t-").text(name).markup("\">").text(title).markup("</h3>");
    out.element("span class=\"mut\"", words);
    out.markup("<div class=\"ctl js\"><label class=\"vh\" for=\"q-")
        .text(name)
        .markup("\">Filter ")
        .text(title);
    out.markup("</label><input type=\"search\" placeholder=\"filter\" id=\"q-")
        .text(name)
        .markup("\" data-filter=\"t-")
        .text(name);
    out.markup("\"><button class=\"btn\" data-csv=\"t-")
        .text(name)
        .markup("\">Copy as CSV</button></div></div>");
    out.markup("<div class=\"panel tw\" tabindex=\"0\" role=\"region\" aria-labelledby=\"h-t-").text(name);
    out.markup("\"><table class=\"d\" id=\"t-").text(name).markup("\"><thead><tr>");
}

void write_table(Markup& out, const text::Table& table, const std::string& more_in, bool compared) {
    begin_table(out, std::string(table.name), table.title, text::count_text(table.rows.size(), "row"));
    std::vector<std::size_t> order; // what it is comes before its numbers
    for (std::size_t column = 0; column < table.columns.size(); ++column)
        if (!is_empty(table, column))
            order.push_back(column);
    std::stable_partition(order.begin(), order.end(),
                          [&](std::size_t column) { return !is_number(table, column); });
    std::stable_partition(order.begin(), order.end(), [&](std::size_t column) {
        return table.columns[column].key == "name" || table.columns[column].key == "line" ||
               table.columns[column].key == "copy";
    });
    for (const std::size_t column : order) {
        out.markup(is_number(table, column) ? "<th scope=\"col\" class=\"r\" data-key=\""
                                            : "<th scope=\"col\" data-key=\"");
        out.text(table.columns[column].key)
            .markup("\">")
            .text(title_of(table.columns[column].title))
            .markup("</th>");
    }
    out.markup("</tr></thead><tbody>");
    std::vector<bool> numbers;
    for (std::size_t column = 0; column < table.columns.size(); ++column)
        numbers.push_back(is_number(table, column));
    std::map<std::string_view, double> largest; // by unit: times of a table share one, so that they compare
    for (std::size_t column = 0; compared && column < table.columns.size(); ++column)
        for (const std::vector<text::Cell>& row : table.rows) {
            double& most = largest[unit_of(table.columns[column].title)];
            most = std::max(most, std::abs(number_of(row[column])));
        }
    // Those rows have names that are theirs alone.
    const bool linked = !compared && (table.name == "api" || table.name == "copies" || table.name == "managed");
    for (std::size_t i = 0; i < std::min(table.rows.size(), most_rows); ++i) {
        if (linked)
            out.markup("<tr id=\"")
                .markup(row_id(table.name, std::get<std::string>(table.rows[i][order.front()])))
                .markup("\">");
        else
            out.markup("<tr>");
        for (const std::size_t column : order)
            if (const std::string_view unit = unit_of(table.columns[column].title); compared && numbers[column])
                write_compared_cell(out, OneUnit(unit, largest[unit]), number_of(table.rows[i][column]),
                                    table.columns[column].key == "change_ns");
            else
                write_cell(out, unit, table.rows[i][column], numbers[column]);
        out.markup("</tr>");
    }
    out.markup("</tbody></table></div>");
    if (table.rows.size() > most_rows)
        out.element("p class=\"more\"",
                    fmt::format("{} more rows: {}", table.rows.size() - most_rows, more_in));
}

void write_tables(Markup& out, advice::Report& report) {
    out.markup("<section id=\"tables\" aria-labelledby=\"h-tables\"><div class=\"sh\"><h2 "
               "id=\"h-tables\">Tables</h2><span class=\"mut\">as umadvisor stats has them</span></div>");
    for (const std::string_view name :
         {"allocations", "page-locked", "managed", "api", "copies", "kernels", "copy-sizes"}) {
        const text::Table table = reports::stats_table(report, name);
        if (!table.rows.empty())
            write_table(out, table, fmt::format("umadvisor stats --table {}", name));
    }
    out.markup("</section>");
}

} // namespace umadvisor::html
