#include "analyzer/cli/command.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/rule_pages.hpp"
#include "analyzer/cli/terminal/pager.hpp"
#include "analyzer/cli/terminal/terminal.hpp"
#include "analyzer/text/terminal_text.hpp"

#include <algorithm>
#include <cctype>
#include <iostream>
#include <optional>

namespace umadvisor::cli {
namespace {

/// True if `text` names the rule of this page: by its id in any case, by the number of its id, or by its name.
bool means(std::string text, const RulePage& page) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    constexpr std::string_view prefix = "uma-";
    const std::string_view number = page.id.substr(prefix.size());
    return text == page.name || text == number ||
           (text.starts_with(prefix) && text.substr(prefix.size()) == number);
}

/// Its heading: id, name and title.
std::string_view heading(const RulePage& page) {
    constexpr std::string_view mark = "# ";
    return page.text.substr(mark.size(), page.text.find('\n') - mark.size());
}

/// A paragraph with its marks in the styles of a terminal: **bold**, `code`, [words](link).
void write_words(std::ostream& out, std::string_view words) {
    while (!words.empty()) {
        const std::size_t mark = words.find_first_of("*`[");
        out << words.substr(0, mark);
        words.remove_prefix(std::min(mark, words.size()));
        const auto marked = [&](std::string_view begin, std::string_view end, std::string_view skipped) {
            const std::size_t stop = words.starts_with(begin) ? words.find(end, begin.size()) : words.npos;
            if (stop == words.npos)
                return false;
            const text::Style style = begin == "`"   ? text::Style::saving
                                      : begin == "[" ? text::Style::plain
                                                     : text::Style::title;
            out << text::Styled{style, words.substr(begin.size(), stop - begin.size())};
            const std::size_t last = words.find(skipped, stop);
            words.remove_prefix(last == words.npos ? words.size() : last + skipped.size());
            return true;
        };
        if (!words.empty() && !marked("**", "**", "**") && !marked("`", "`", "`") && !marked("[", "](", ")")) {
            out << words.front();
            words.remove_prefix(1);
        }
    }
    out << "\n";
}

/// The page as a terminal shows it: paragraphs in its width, headings set off, code as it is.
void write_page(std::ostream& out, std::string_view page) {
    std::string paragraph;
    const auto end_paragraph = [&] {
        if (!paragraph.empty())
            write_words(out, paragraph);
        paragraph.clear();
    };
    for (std::size_t end = 0; !page.empty(); page.remove_prefix(std::min(end + 1, page.size()))) {
        end = std::min(page.find('\n'), page.size());
        const std::string_view line = page.substr(0, end);
        const bool heading = line.starts_with('#'), code = line.starts_with("    "),
                   row = line.starts_with('|');
        if (heading || code || row || line.empty() || line.starts_with("- "))
            end_paragraph();
        if (heading)
            out << text::Styled{text::Style::title, line.substr(line.find(' ') + 1)} << "\n";
        else if (code || row || line.empty())
            out << line << "\n";
        else
            paragraph += (paragraph.empty() ? "" : " ") + std::string(line.substr(line.find_first_not_of(' ')));
    }
    end_paragraph();
}

int explain(const Arguments& arguments) {
    const std::optional<text::Terminal> shown_on = terminal(arguments);
    if (!shown_on)
        return usage_error;
    if (arguments.rest.empty()) {
        const Pager pager;
        for (const RulePage& page : rule_pages())
            std::cout << heading(page) << "\n";
        return done;
    }
    std::string known;
    for (const RulePage& page : rule_pages()) {
        if (means(arguments.rest.front(), page)) {
            const Pager pager;
            if (shown_on->width == 0 && !shown_on->colour) {
                std::cout << page.text; // for a tool that reads Markdown
                return done;
            }
            constexpr std::size_t widest = 100;
            text::TerminalText text({std::min(shown_on->width, widest), shown_on->colour});
            write_page(text.stream(), page.text);
            text.print(std::cout);
            return done;
        }
        known += fmt::format("{}{} {}", known.empty() ? "" : ", ", page.id, page.name);
    }
    say(fmt::format("there is no rule {}; rules are: {}", arguments.rest.front(), known));
    return usage_error;
}

} // namespace

const Command explain_command{
    "explain",
    "Explain a rule, by its id, number or name: cause, remedy, when to ignore it; without a rule, list all",
    "RULE",
    0,
    1,
    with_terminal_option({}),
    &explain};

} // namespace umadvisor::cli
