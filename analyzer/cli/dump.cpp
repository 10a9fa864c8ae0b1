#include "analyzer/reports/dump.hpp"
#include "analyzer/cli/command.hpp"

#include <iostream>

namespace umadvisor::cli {
namespace {

int dump(const Arguments& arguments) {
    for (const std::string& path : arguments.rest) {
        reader::Trace trace(path);
        if (arguments.has("--json"))
            reports::write_json_dump(trace, std::cout);
        else
            reports::write_text_dump(trace, std::cout);
        reports::write_losses(trace, std::cerr);
    }
    return done;
}

} // namespace

const Command dump_command{"dump", "Print every record of a trace in the order of time", "FILE", 1,
                           1,      {{"--json", "", "One JSON object a line"}},           &dump};

} // namespace umadvisor::cli
