#include "analyzer/reports/report.hpp"

#include "analyzer/cli/command.hpp"
#include "analyzer/cli/progress.hpp"
#include "analyzer/cli/stack_options.hpp"

#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace umadvisor::cli {
namespace {

int report(const Arguments& arguments) {
    // One JSON document in any case: an object for one file, an array for several.
    auto documents = nlohmann::ordered_json::array();
    bool first = true;
    const symbols::Options options = stack_options(arguments);
    for (const std::string& path : arguments.rest) {
        reports::Report made(path, options);
        if (arguments.has("--json")) {
            documents.push_back(reports::to_json(made));
            continue;
        }
        std::ostringstream text; // symbols are looked up meanwhile, with a line of their own on the terminal
        reports::write_text(made, text);
        end_progress();
        std::cout << (first ? "" : "\n") << text.view();
        first = false;
    }
    end_progress();
    if (arguments.has("--json"))
        std::cout << (documents.size() == 1 ? documents[0] : documents)
                         .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
                  << "\n";
    std::cout.flush();
    return std::cout ? done : operational_error;
}

} // namespace

const Command report_command{
    "report", "Say what costs time, on which line, and what to write instead",
    "FILE",   1,
    1 << 20,  with_stack_options({{"--json", "", "The document that docs/report-schema.md describes"}}),
    &report};

} // namespace umadvisor::cli
