/// Text for a terminal: in its width, and with some of it set off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <sstream>
#include <string>
#include <string_view>

namespace umadvisor::text {

struct Terminal {
    std::size_t width = 0; ///< columns; longer lines are wrapped. 0: any
    bool colour = false;
};

enum class Style : std::uint8_t { plain, title, saving, high, medium, low, source, worse };

/// Part of a text. On a stream that is none of a TerminalText with colour it is its characters alone.
struct Styled {
    Style style;
    std::string_view text; ///< one line or a part of it
};
std::ostream& operator<<(std::ostream& out, const Styled& part);

/// Collects text like any stream, and prints it as the terminal shows it, control characters as question marks.
class TerminalText {
public:
    explicit TerminalText(Terminal terminal);

    std::ostream& stream() { return text_; }
    /// Prints all that was written, and forgets it.
    void print(std::ostream& out);

private:
    Terminal terminal_;
    std::ostringstream text_;
};

/// Lines of `width` columns at most, unless a word has more: what follows the first is indented further.
/// Escape sequences take no column. A line is broken before what stands apart from it by several blanks, else
/// where it is full; never in brackets, where drawings stand.
std::string wrapped(std::string_view text, std::size_t width);

} // namespace umadvisor::text
