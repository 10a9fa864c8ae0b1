#include "analyzer/reports/table.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <ostream>
#include <type_traits>

namespace umadvisor::reports {
namespace {

std::string fixed_text(double value, int decimals) {
    char text[352]; // of the largest number, and its decimals
    std::snprintf(text, sizeof text, "%.*f", decimals, value);
    return text;
}

std::string cell_text(const Cell& cell, const Column& column) {
    return std::visit(
        [&](const auto& value) -> std::string {
            using Value = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<Value, std::monostate>)
                return {};
            else if constexpr (std::is_same_v<Value, std::string>)
                return value;
            else if constexpr (std::is_same_v<Value, double>)
                return fixed_text(value, column.decimals);
            else
                return std::to_string(value);
        },
        cell);
}

bool is_word(const Cell& cell) {
    return std::holds_alternative<std::string>(cell);
}

/// Columns of a terminal, near enough: one for each character of UTF-8.
std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string quoted(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos)
        return text;
    std::string result = "\"";
    for (const char c : text)
        result += c == '"' ? std::string("\"\"") : std::string(1, c);
    return result + "\"";
}

} // namespace

void write_text(const Table& table, std::ostream& out) {
    std::vector<std::size_t> widths;
    std::vector<bool> words;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        std::size_t width = width_of(table.columns[i].title);
        bool word = false;
        for (const auto& row : table.rows) {
            width = std::max(width, width_of(cell_text(row[i], table.columns[i])));
            word = word || is_word(row[i]);
        }
        widths.push_back(width);
        words.push_back(word);
    }
    const auto write_line = [&](const auto& text_of) {
        std::string line;
        for (std::size_t i = 0; i < widths.size(); ++i) {
            const std::string text(text_of(i));
            const std::string padding(widths[i] - width_of(text), ' ');
            line += "  " + (words[i] ? text + padding : padding + text);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out << line << "\n";
    };
    out << table.title << "\n\n";
    write_line([&](std::size_t i) { return table.columns[i].title; });
    write_line([&](std::size_t i) { return std::string(widths[i], '-'); });
    for (const auto& row : table.rows)
        write_line([&](std::size_t i) { return cell_text(row[i], table.columns[i]); });
}

void write_csv(const Table& table, std::ostream& out) {
    const auto separator = [](std::size_t i) { return i == 0 ? "" : ","; };
    for (std::size_t i = 0; i < table.columns.size(); ++i)
        out << separator(i) << quoted(std::string(table.columns[i].title));
    out << "\n";
    for (const auto& row : table.rows) {
        for (std::size_t i = 0; i < row.size(); ++i)
            out << separator(i) << quoted(cell_text(row[i], table.columns[i]));
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

} // namespace umadvisor::reports
