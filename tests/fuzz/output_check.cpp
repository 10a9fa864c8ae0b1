#include "output_check.hpp"

#include "hostile_values.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

namespace umadvisor::fuzz {
namespace {

using Objections = std::vector<Objection>;

/// Some bytes around `at`, printable.
std::string excerpt(std::string_view text, std::size_t at) {
    const std::size_t begin = at < 40 ? 0 : at - 40;
    return nlohmann::json(std::string(text.substr(begin, 80)))
        .dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

/// The code point at `at` and how many bytes it has; nothing where there is no UTF-8 (RFC 3629).
std::optional<std::pair<std::uint32_t, std::size_t>> code_point(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const std::uint8_t lead = byte(at);
    if (lead < 0x80)
        return std::pair<std::uint32_t, std::size_t>(lead, 1);
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || at + length > text.size())
        return std::nullopt;
    std::uint32_t value = lead & (0xffu >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(at + i) & 0xc0) != 0x80)
            return std::nullopt;
        value = value << 6 | (byte(at + i) & 0x3fu);
    }
    constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
    if (value < least[length] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
        return std::nullopt;
    return std::pair(value, length);
}

/// What a terminal or a reader's eye would take for something else than text: C0 but line feed and tab, DEL,
/// C1, what ends a line or a paragraph, and what turns the direction of writing.
bool is_control(std::uint32_t point) {
    return (point < 0x20 && point != '\n' && point != '\t') || (point >= 0x7f && point < 0xa0) ||
           point == 0x61c || point == 0x200e || point == 0x200f || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2066 && point <= 0x2069);
}

/// The length of a colour's sequence at `at`; 0: there is none.
std::size_t colour_at(std::string_view text, std::size_t at) {
    if (text.substr(at, 2) != "\033[")
        return 0;
    const std::size_t end = text.find_first_not_of("0123456789;", at + 2);
    return end != std::string_view::npos && text[end] == 'm' ? end + 1 - at : 0;
}

void check_characters(std::string_view text, bool coloured, Objections& found) {
    bool control = false, invalid = false;
    for (std::size_t at = 0; at < text.size() && !(control && invalid);) {
        if (const std::size_t colour = coloured ? colour_at(text, at) : 0; colour != 0) {
            at += colour;
            continue;
        }
        const auto point = code_point(text, at);
        if (!point && !invalid) {
            invalid = true;
            found.push_back({"invalid UTF-8", excerpt(text, at)});
        } else if (point && is_control(point->first) && !control) {
            control = true;
            found.push_back({"control byte", excerpt(text, at)});
        }
        at += point ? point->second : 1;
    }
}

void check_lines(std::string_view text, Objections& found) {
    for (std::size_t at = text.find(forged_line); at != std::string_view::npos;
         at = text.find(forged_line, at + 1))
        if (at == 0 || text[at - 1] == '\n')
            return found.push_back({"forged line", excerpt(text, at)});
}

void check_json(std::string_view text, Objections& found) {
    try {
        const auto document = nlohmann::json::parse(text);
        if (document.is_null())
            found.push_back({"JSON", "null"});
    } catch (const nlohmann::json::exception& error) {
        found.push_back({"JSON", error.what()});
    }
}

void check_sarif(std::string_view text, Objections& found) {
    try {
        const auto document = nlohmann::json::parse(text);
        if (document.at("version") != "2.1.0" || !document.at("runs").is_array())
            found.push_back({"SARIF", "no version or no runs"});
    } catch (const nlohmann::json::exception& error) {
        found.push_back({"SARIF", error.what()});
    }
}

template <class Check>
void each_line(std::string_view text, Check&& check) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        check(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

void check_json_lines(std::string_view text, Objections& found) {
    each_line(text, [&](std::string_view line) {
        if (found.empty() && !nlohmann::json::accept(line))
            found.push_back({"JSON", excerpt(line, 0)});
    });
}

void check_collapsed(std::string_view text, Objections& found) {
    each_line(text, [&](std::string_view line) {
        const std::size_t blank = line.rfind(' ');
        if (found.empty() && (blank == std::string_view::npos || blank + 1 == line.size() || blank == 0 ||
                              line.find_first_not_of("0123456789", blank + 1) != std::string_view::npos))
            found.push_back({"collapsed stack", excerpt(line, 0)});
    });
}

/// The tables stand one below the other with an empty line between (RFC 4180).
void check_csv(std::string_view text, Objections& found) {
    std::size_t columns = 1, expected = 0;
    bool quoted = false, empty = true;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '"')
            quoted = !quoted;
        if (c != '\n' || quoted) {
            columns += c == ',' && !quoted;
            empty = false;
            continue;
        }
        if (empty)
            expected = 0; // a header follows
        else if (expected == 0)
            expected = columns;
        else if (columns != expected)
            return found.push_back({"CSV", excerpt(text, at)});
        columns = 1;
        empty = true;
    }
    if (quoted || !empty)
        found.push_back({"CSV", "no end of line"});
}

/// A text of the trace that is taken for markup makes further elements, most of all scripts.
void check_page(std::string_view text, Objections& found) {
    const auto count = [text](std::string_view part) {
        std::size_t times = 0;
        for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
            ++times;
        return times;
    };
    for (const auto& [part, times] : {std::pair("<script", 2u),
                                      {"</script>", 2u},
                                      {"<style", 1u},
                                      {"<body", 1u},
                                      {"<iframe", 0u},
                                      {"<img", 0u}})
        if (count(part) != times)
            found.push_back({"markup", std::string(part) + " " + std::to_string(count(part)) + " times"});
    constexpr std::string_view opens = "id=\"data\">";
    const std::size_t begin = text.find(opens), end = text.find("</script>");
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin ||
        !nlohmann::json::accept(text.substr(begin + opens.size(), end - begin - opens.size())))
        found.push_back({"JSON", "the data of the page"});
}

} // namespace

Objections check_output(Format format, std::string_view text) {
    Objections found;
    if (text.find(secret_content) != std::string_view::npos)
        found.push_back({"another file", excerpt(text, text.find(secret_content))});
    if (text.empty())
        return found;
    switch (format) {
    case Format::json:
        check_json(text, found);
        break;
    case Format::sarif:
        check_sarif(text, found);
        break;
    case Format::json_dump:
        check_json_lines(text, found);
        break;
    case Format::html:
        check_page(text, found);
        break;
    case Format::csv: // a quoted line feed forges no row
        check_csv(text, found);
        break;
    case Format::collapsed:
        check_collapsed(text, found);
        check_lines(text, found);
        break;
    case Format::text:
    case Format::coloured:
    case Format::markdown:
    case Format::dump:
        check_lines(text, found);
        break;
    }
    check_characters(text, format == Format::coloured, found);
    return found;
}

Objections check_messages(std::string_view text) {
    Objections found;
    check_characters(text, false, found);
    check_lines(text, found);
    each_line(text, [&](std::string_view line) {
        if (found.empty() && !line.starts_with("umadvisor: "))
            found.push_back({"forged message", excerpt(line, 0)});
    });
    return found;
}

} // namespace umadvisor::fuzz
