#include "analyzer/cli/command.hpp"
#include "analyzer/cli/compared.hpp"
#include "analyzer/cli/progress.hpp"
#include "analyzer/cli/stack_options.hpp"
#include "analyzer/cli/terminal.hpp"
#include "analyzer/reports/comparison.hpp"

#include <iostream>
#include <nlohmann/json.hpp>

namespace umadvisor::cli {
namespace {

int diff(const Arguments& arguments) {
    const std::optional<reports::Terminal> shown_on = terminal(arguments);
    if (!shown_on)
        return usage_error;
    const symbols::Options options = stack_options(arguments);
    reports::ComparedSide before{arguments.rest.front(), {}}, after{arguments.rest.back(), {}};
    add_compared(before.runs, before.file, options);
    add_compared(after.runs, after.file, options);
    end_progress();
    if (arguments.has("--json")) {
        std::cout
            << to_json(before, after).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
            << "\n";
    } else {
        reports::TerminalText text(*shown_on);
        write_text(before, after, text.stream());
        text.print(std::cout);
    }
    std::cout.flush();
    return std::cout ? done : operational_error;
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
