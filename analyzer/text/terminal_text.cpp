#include "analyzer/text/terminal_text.hpp"

#include "analyzer/text/columns.hpp"
#include "analyzer/text/plain_output.hpp"
#include "trace/plain_text.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <ostream>

namespace umadvisor::text {
namespace {

constexpr char escape = '\033';
/// Begins a style within the text collected, followed by its digit; the plain one ends it. Names and paths of a
/// trace may hold anything: an escape sequence of theirs reaches no terminal.
constexpr char style_mark = '\001';
constexpr std::string_view normal = "\033[0m";
constexpr std::array<std::string_view, 8> sequences{normal,     "\033[1m", "\033[36m", "\033[32m",
                                                    "\033[33m", "\033[2m", "\033[2m",  "\033[31m"};

/// Of a stream: whether it has colour.
int colour_flag() {
    static const int index = std::ios_base::xalloc();
    return index;
}

/// With sequences for marks, where there is colour, and nothing else that a terminal obeys.
std::string shown(std::string_view text, bool colour) {
    std::string result, plain;
    const auto end_plain = [&] {
        plain.resize(trace::make_plain(plain.data(), plain.size(), trace::Plain::lines));
        result += plain;
        plain.clear();
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool mark = colour && text[i] == style_mark && i + 1 < text.size();
        const std::size_t style = mark ? static_cast<std::size_t>(text[i + 1] - '0') : sequences.size();
        if (style < sequences.size()) {
            end_plain();
            result += sequences[style];
            ++i;
        } else if (text[i] != '\r') { // of a line's end in some sources
            plain += text[i];
        }
    }
    end_plain();
    return result;
}

struct Break {
    std::size_t end, next; ///< of this line, and where the next begins
};

/// A gap this near to a line's begin belongs to what leads it: a number, a sign.
constexpr std::size_t least_before_gap = 12;
constexpr std::size_t least_hanging = 4; ///< as far in as what follows a title

/// Nothing: the line fits, or is one word.
std::optional<Break> find_break(std::string_view line, std::size_t width) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    std::optional<Break> at_gap, at_blank;
    std::size_t column = 0;
    bool in_brackets = false;
    for (std::size_t i = 0; i < line.size();) {
        if (line[i] == escape) {
            i = std::min(line.find('m', i), line.size() - 1) + 1;
            continue;
        }
        if (line[i] == ' ' && i > indent && !in_brackets) {
            const std::size_t next = std::min(line.find_first_not_of(' ', i), line.size());
            if (column > width)
                return Break{i, next};
            const bool gap = next - i > 1 && column >= indent + least_before_gap;
            (gap ? at_gap : at_blank) = Break{i, next};
            column += next - i;
            i = next;
            continue;
        }
        in_brackets = line[i] == '[' || (in_brackets && line[i] != ']');
        column += !continues(line[i++]);
        if (column > width && (at_gap || at_blank))
            return at_gap ? at_gap : at_blank;
    }
    return std::nullopt;
}

void wrap_line(std::string line, std::size_t width, std::string& result) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::string hanging(std::min(std::max(indent + 2, least_hanging), width / 2), ' ');
    while (const std::optional<Break> found = find_break(line, width)) {
        result.append(line, 0, found->end) += '\n';
        line = hanging + line.substr(found->next);
    }
    result += line;
}

} // namespace

std::ostream& operator<<(std::ostream& out, const Styled& part) {
    if (part.style == Style::plain || out.iword(colour_flag()) == 0)
        return out << part.text;
    const auto mark = [&out](Style style) {
        out << style_mark << static_cast<char>('0' + static_cast<int>(style));
    };
    mark(part.style);
    out << part.text;
    mark(Style::plain);
    return out;
}

TerminalText::TerminalText(Terminal terminal) : terminal_(terminal) {
    text_.iword(colour_flag()) = terminal.colour;
}

void TerminalText::print(std::ostream& out) {
    const std::string text = shown(text_.view(), terminal_.colour);
    pass(out, terminal_.width == 0 ? text : wrapped(text, terminal_.width));
    text_.str({});
}

std::string wrapped(std::string_view text, std::size_t width) {
    std::string result;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        wrap_line(std::string(text.substr(0, end)), width, result);
        if (end < text.size())
            result += '\n';
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return result;
}

} // namespace umadvisor::text
