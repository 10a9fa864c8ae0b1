#include "analyzer/reports/plan/plan.hpp"

#include "analyzer/cli/command.hpp"
#include "analyzer/cli/losses.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/output_file.hpp"
#include "analyzer/cli/stack_options.hpp"
#include "analyzer/cli/terminal/progress.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/text/json_text.hpp"

#include <iostream>

namespace umadvisor::cli {
namespace {

int plan(const Arguments& arguments) {
    const std::string output = arguments.value("--output");
    const bool force = arguments.has("--force");
    if (!output.empty())
        check_output_name(output, force);
    reports::Plan plan;
    for (const std::string& path : arguments.rest) {
        advice::Report report(path, stack_options());
        plan.add(report);
        say_losses(report.trace);
    }
    end_progress();
    if (plan.empty())
        say("nothing was learned for a plan; record with umadvisor run --act");
    const std::string text = text::json_text(plan.document(), 2) + "\n";
    if (output.empty())
        std::cout << text;
    else
        write_output_file(output, force, text);
    return done;
}

} // namespace

const Command plan_command{"plan",
                           "Write what runs have learned, for umadvisor run --act plan=FILE",
                           "FILE",
                           1,
                           1 << 20,
                           {{"-o,--output", "FILE", "Output file; default: standard output"},
                            {"-f,--force", "", "Replace an existing file"}},
                           &plan};

} // namespace umadvisor::cli
