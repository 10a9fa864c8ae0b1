#include "analyzer/cli/command.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/rule_pages.hpp"

#include <algorithm>
#include <cctype>
#include <iostream>

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

int explain(const Arguments& arguments) {
    if (arguments.rest.empty()) {
        for (const RulePage& page : rule_pages())
            std::cout << heading(page) << "\n";
        return done;
    }
    std::string known;
    for (const RulePage& page : rule_pages()) {
        if (means(arguments.rest.front(), page)) {
            std::cout << page.text;
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
    {},
    &explain};

} // namespace umadvisor::cli
