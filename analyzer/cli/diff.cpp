#include "analyzer/cli/command.hpp"
#include "analyzer/cli/compared.hpp"
#include "analyzer/cli/progress.hpp"
#include "analyzer/cli/stack_options.hpp"
#include "analyzer/cli/terminal.hpp"
#include "analyzer/reader/plain.hpp"
#include "analyzer/reports/comparison.hpp"
#include "analyzer/reports/json_text.hpp"

#include <iostream>
#include <nlohmann/json.hpp>

namespace umadvisor::cli {
namespace {

int diff(const Arguments& arguments) {
    const std::optional<reports::Terminal> shown_on = terminal(arguments);
    if (!shown_on)
        return usage_error;
    const symbols::Options options = stack_options(arguments);
    const std::string &old = arguments.rest.front(), &now = arguments.rest.back();
    reports::ComparedSide before{reader::plain(old), {}}, after{reader::plain(now), {}};
    add_compared(before.runs, old, options);
    add_compared(after.runs, now, options);
    end_progress();
    if (arguments.has("--json")) {
        std::cout << reports::json_text(to_json(before, after), 2) << "\n";
    } else {
        reports::TerminalText text(*shown_on);
        write_text(before, after, text.stream());
        text.print(std::cout);
    }
    return done;
}

} // namespace

const Command diff_command{"diff",
                           "Compare two runs: findings that went, came and changed",
                           "FILE",
                           2,
                           2,
                           with_terminal_option(with_stack_options(
                               {{"--json", "", "The document that docs/comparison.md describes"}})),
                           &diff};

} // namespace umadvisor::cli
