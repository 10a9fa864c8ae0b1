#include "analyzer/cli/command.hpp"
#include "analyzer/cli/compared.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/output_file.hpp"
#include "analyzer/cli/run/trace_output.hpp"
#include "analyzer/cli/stack_options.hpp"
#include "analyzer/cli/terminal/progress.hpp"
#include "analyzer/cli/terminal/terminal.hpp"
#include "analyzer/reader/plain.hpp"
#include "analyzer/reports/comparison/comparison.hpp"
#include "analyzer/reports/html/comparison_page.hpp"
#include "analyzer/reports/html/over_time.hpp"
#include "analyzer/reports/html/page.hpp"
#include "analyzer/text/json_text.hpp"

#include <iostream>
#include <nlohmann/json.hpp>

namespace umadvisor::cli {
namespace {

/// The exit status where it is not, said why.
int html_trouble(const Arguments& arguments) {
    const bool as_page = arguments.has("--html");
    for (const std::string option : {"--output", "--force"})
        if (arguments.has(option) && !as_page) {
            say(option + " goes with --html");
            return usage_error;
        }
    if (as_page && arguments.has("--json")) {
        say("--html and --json are two formats: give one");
        return usage_error;
    }
    if (arguments.has("--force") && !arguments.has("--output")) {
        say("--force needs -o FILE");
        return usage_error;
    }
    if (as_page && !html::available()) {
        say("this umadvisor was built without npm, so it has no HTML: install npm and build it again");
        return operational_error;
    }
    if (arguments.has("--output")) {
        for (const std::string& input : arguments.rest)
            check_is_not_input(arguments.value("--output"), input);
        check_output_name(arguments.value("--output"), arguments.has("--force"));
    }
    return done;
}

int diff(const Arguments& arguments) {
    if (const int trouble = html_trouble(arguments); trouble != done)
        return trouble;
    const std::optional<text::Terminal> shown_on = terminal(arguments);
    if (!shown_on)
        return usage_error;
    const symbols::Options options = stack_options(arguments);
    const std::string &old = arguments.rest.front(), &now = arguments.rest.back();
    reports::ComparedSide before{reader::plain(old), {}}, after{reader::plain(now), {}};
    const bool as_page = arguments.has("--html");
    html::OverTimePass before_time, after_time;
    const auto beside = [as_page](html::OverTimePass& pass) {
        return as_page ? BesideReport{[&pass](advice::Report& report) { return pass.beside(report); },
                                      [&pass](advice::Report& report) { pass.finish(report); }}
                       : BesideReport{};
    };
    add_compared(before.runs, old, options, beside(before_time));
    add_compared(after.runs, now, options, beside(after_time));
    end_progress();
    if (as_page) {
        const std::string page = html::comparison_page(to_json(before, after), UMADVISOR_VERSION,
                                                       before_time.made(), after_time.made());
        if (arguments.has("--output"))
            write_output_file(arguments.value("--output"), arguments.has("--force"), page);
        else
            std::cout << page;
    } else if (arguments.has("--json")) {
        std::cout << text::json_text(to_json(before, after), 2) << "\n";
    } else {
        text::TerminalText text(*shown_on);
        write_text(before, after, text.stream());
        text.print(std::cout);
    }
    return done;
}

} // namespace

const Command diff_command{
    "diff",
    "Compare two runs: findings that are gone, new and changed",
    "FILE",
    2,
    2,
    with_terminal_option(with_stack_options(
        {{"-f,--force", "", "With --html, replace an existing file"},
         {"--html", "", "One page for a browser; loads nothing from the network"},
         {"--json", "", "The document that docs/comparison.md describes"},
         {"-o,--output", "FILE", "With --html, the output file; default: standard output"}})),
    &diff};

} // namespace umadvisor::cli
