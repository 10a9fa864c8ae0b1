#include "analyzer/reports/flame/tree.hpp"

#include "analyzer/cli/command.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/range_options.hpp"
#include "analyzer/cli/stack_options.hpp"
#include "analyzer/cli/terminal/pager.hpp"
#include "analyzer/cli/terminal/terminal.hpp"
#include "analyzer/cli/weighing.hpp"

#include <cstdlib>
#include <iostream>

namespace umadvisor::cli {
namespace {

/// A number from 0 to `most`; -1: none.
double number_of(const std::string& text, double most) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    return text.empty() || *end != '\0' || !(value >= 0 && value <= most) ? -1 : value;
}

int complain(const std::string& text) {
    say(text);
    return usage_error;
}

int tree(const Arguments& arguments) {
    constexpr double widest = 10'000;
    const std::optional<reports::Weight> by = weight_of(arguments);
    const std::optional<reader::RangeQuery> ranges = range_query(arguments);
    if (!by || !ranges)
        return usage_error;
    const std::optional<text::Terminal> shown_on = terminal(arguments);
    if (!shown_on)
        return usage_error;
    reports::TreeStyle style{.width = shown_on->width};
    if (arguments.has("--width")) {
        const double width = number_of(arguments.value("--width"), widest);
        if (width < 0)
            return complain("--width takes a number of columns, not " + arguments.value("--width"));
        style.width = static_cast<std::size_t>(width);
    }
    if (arguments.has("--threshold")) {
        style.least_percent = number_of(arguments.value("--threshold"), 100);
        if (style.least_percent < 0)
            return complain("--threshold takes a percentage such as 1 or 0.5, not " +
                            arguments.value("--threshold"));
    }
    const reports::WeighedStacks stacks = weigh(arguments, *by, *ranges);
    text::TerminalText text({.colour = shown_on->colour}); // lines are cut, not wrapped
    if (!stacks.stacks.empty())
        reports::write_tree(stacks, style, text.stream());
    const Pager pager;
    text.print(std::cout);
    return done;
}

} // namespace

const Command tree_command{
    "tree",
    "Stacks with their weights, as a tree of text",
    "FILE",
    1,
    1,
    with_terminal_option(with_stack_options(with_range_options(
        {weight_option(),
         {"--threshold", "PERCENT", "Omit branches below this percentage; default: 1"},
         {"--width", "COLUMNS", "Cut longer lines; 0: never; default: the terminal's width"}}))),
    &tree};

} // namespace umadvisor::cli
