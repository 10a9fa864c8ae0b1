#include "analyzer/text/table.hpp"

#include "analyzer/text/columns.hpp"
#include "analyzer/text/terminal_text.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <ostream>
#include <type_traits>

namespace umadvisor::text {
namespace {

std::string fixed_text(double value, int decimals) {
    char text[352]; // of the largest number, and its decimals
    std::snprintf(text, sizeof text, "%.*f", decimals, value);
    return text;
}

/// With a comma between thousands.
std::string grouped(std::string number) {
    const std::size_t begin = number.starts_with('-') ? 1 : 0;
    for (std::size_t at = std::min(number.find('.'), number.size()); at > begin + 3;)
        number.insert(at -= 3, ",");
    return number;
}

/// What is not known is `unknown`.
std::string cell_text(const Cell& cell, const Column& column, const char* unknown) {
    return std::visit(
        [&](const auto& value) -> std::string {
            using Value = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<Value, std::monostate>)
                return unknown;
            else if constexpr (std::is_same_v<Value, std::string>)
                return value;
            else if constexpr (std::is_same_v<Value, double>)
                return fixed_text(value, column.decimals);
            else
                return std::to_string(value);
        },
        cell);
}

/// As the text shows it: a gap would look like a mistake.
std::string shown_text(const Cell& cell, const Column& column) {
    std::string text = cell_text(cell, column, "–");
    return std::holds_alternative<std::string>(cell) || std::holds_alternative<std::monostate>(cell)
               ? text
               : grouped(std::move(text));
}

bool is_word(const Cell& cell) {
    return std::holds_alternative<std::string>(cell);
}

std::string quoted(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos)
        return text;
    std::string result = "\"";
    for (const char c : text)
        result += c == '"' ? std::string("\"\"") : std::string(1, c);
    return result + "\"";
}

constexpr std::size_t least_name_kept = 24; ///< columns of what each row is of: numbers are left out for it

/// Which columns a line has room for.
struct Layout {
    struct Shown {
        std::size_t column, width;
        bool words;
    };
    std::vector<Shown> shown;
    std::string left_out; ///< titles

    /// Where they take more than `width`, the last numbers go first; what each row is of stays, and is cut.
    Layout(const Table& table, std::size_t width) {
        std::size_t taken = 0;
        for (std::size_t i = 0; i < table.columns.size(); ++i) {
            Shown each{i, columns(table.columns[i].title), false};
            for (const auto& row : table.rows) {
                each.width = std::max(each.width, columns(shown_text(row[i], table.columns[i])));
                each.words = each.words || is_word(row[i]);
            }
            shown.push_back(each);
            taken += 2 + each.width;
        }
        if (width == 0)
            return;
        const std::size_t name = shown.back().width;
        taken -= name;
        for (std::size_t i = shown.size() - 1; i-- > 1 && taken + std::min(name, least_name_kept) > width;) {
            if (shown[i].words)
                continue;
            taken -= 2 + shown[i].width;
            left_out.insert(0, std::string(table.columns[i].title) + (left_out.empty() ? "" : ", "));
            shown.erase(shown.begin() + static_cast<std::ptrdiff_t>(i));
        }
        shown.back().width = std::min(name, std::max(least_name_kept, width - std::min(width, taken)));
    }
};

} // namespace

void write_text(const Table& table, std::ostream& out, std::size_t width) {
    const Layout layout(table, width);
    const auto write_line = [&](const auto& text_of) {
        std::string line;
        for (const Layout::Shown& shown : layout.shown) {
            const std::string text = cut(std::string(text_of(shown.column)), shown.width);
            const std::string padding(shown.width - columns(text), ' ');
            line += "  " + (shown.words ? text + padding : padding + text);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out << line << "\n";
    };
    out << Styled{Style::title, table.title} << "\n\n";
    write_line([&](std::size_t i) { return table.columns[i].title; });
    for (const Layout::Shown& shown : layout.shown)
        out << "  " << std::string(shown.width, '-');
    out << "\n";
    for (const auto& row : table.rows)
        write_line([&](std::size_t i) { return shown_text(row[i], table.columns[i]); });
    if (!layout.left_out.empty())
        out << "  omitted for lack of width: " << layout.left_out << "\n";
}

void write_csv(const Table& table, std::ostream& out) {
    const auto separator = [](std::size_t i) { return i == 0 ? "" : ","; };
    for (std::size_t i = 0; i < table.columns.size(); ++i)
        out << separator(i) << quoted(std::string(table.columns[i].title));
    out << "\n";
    for (const auto& row : table.rows) {
        for (std::size_t i = 0; i < row.size(); ++i)
            out << separator(i) << quoted(cell_text(row[i], table.columns[i], ""));
        out << "\n";
    }
}

nlohmann::ordered_json to_json(const Table& table) {
    auto list = nlohmann::ordered_json::array();
    for (const auto& row : table.rows) {
        nlohmann::ordered_json object;
        for (std::size_t i = 0; i < row.size(); ++i)
            std::visit(
                [&](const auto& value) {
                    auto& member = object[std::string(table.columns[i].key)];
                    if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
                        member = value;
                },
                row[i]);
        list.push_back(std::move(object));
    }
    return list;
}

} // namespace umadvisor::text
