#include "analyzer/reports/plan.hpp"

#include "analyzer/cli/command.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/progress.hpp"
#include "analyzer/cli/stack_options.hpp"
#include "analyzer/cli/usual_rates.hpp"

#include <fstream>
#include <iostream>

namespace umadvisor::cli {
namespace {

int plan(const Arguments& arguments) {
    reports::Plan plan;
    for (const std::string& path : arguments.rest) {
        reports::Report report(path, stack_options(), false, &usual_rates);
        plan.add(report);
    }
    end_progress();
    if (plan.empty())
        say("nothing was learned that a plan could hold; record with umadvisor run --act prefetch, rewrite or "
            "stage");
    const std::string text =
        plan.document().dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    if (!arguments.has("--output")) {
        std::cout << text << std::endl;
        return std::cout ? done : operational_error;
    }
    const std::string path = arguments.value("--output");
    std::ofstream file(path);
    file << text << "\n";
    file.close();
    if (file)
        return done;
    say(path + ": cannot be written");
    return operational_error;
}

} // namespace

const Command plan_command{
    "plan",  "Write what runs have learned, for umadvisor run --act plan=FILE",  "FILE", 1,
    1 << 20, {{"-o,--output", "FILE", "Where to; standard output if not said"}}, &plan};

} // namespace umadvisor::cli
