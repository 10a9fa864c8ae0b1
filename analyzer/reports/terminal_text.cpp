#include "analyzer/reports/terminal_text.hpp"

#include "analyzer/reports/columns.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <ostream>

namespace umadvisor::reports {
namespace {

constexpr char escape = '\033';
constexpr std::string_view normal = "\033[0m";
constexpr std::array<std::string_view, 7> sequences{"",         "\033[1m", "\033[36m", "\033[32m",
                                                    "\033[33m", "\033[2m", "\033[2m"};

/// Of a stream: whether it has colour.
int colour_flag() {
    static const int index = std::ios_base::xalloc();
    return index;
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
    const std::string_view sequence = sequences[static_cast<std::size_t>(part.style)];
    if (sequence.empty() || out.iword(colour_flag()) == 0)
        return out << part.text;
    return out << sequence << part.text << normal;
}

TerminalText::TerminalText(Terminal terminal) : terminal_(terminal) {
    text_.iword(colour_flag()) = terminal.colour;
}

void TerminalText::print(std::ostream& out) {
    if (terminal_.width == 0)
        out << text_.view();
    else
        out << wrapped(text_.view(), terminal_.width);
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

} // namespace umadvisor::reports
