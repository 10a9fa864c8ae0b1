#include "analyzer/cli/command.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/rule_pages.hpp"

#include <iostream>

namespace umadvisor::cli {
namespace {

int explain(const Arguments& arguments) {
    std::string known;
    for (const RulePage& page : rule_pages()) {
        if (arguments.rest.empty() || page.id == arguments.rest.front() ||
            page.name == arguments.rest.front()) {
            std::cout << page.text;
            if (!arguments.rest.empty())
                return done;
        }
        known += (known.empty() ? "" : ", ") + std::string(page.id) + " " + std::string(page.name);
    }
    if (arguments.rest.empty())
        return done;
    say("there is no rule " + arguments.rest.front() + "; rules are: " + known);
    return usage_error;
}

} // namespace

const Command explain_command{
    "explain", "Explain a rule, by its id or its name: cause, cure, when to ignore it", "RULE", 0, 1, {},
    &explain};

} // namespace umadvisor::cli
