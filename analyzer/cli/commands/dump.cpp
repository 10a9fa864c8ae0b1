#include "analyzer/reports/dump/dump.hpp"

#include "analyzer/cli/command.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/range_options.hpp"
#include "analyzer/cli/terminal/progress.hpp"
#include "analyzer/reports/completeness_text.hpp"

#include <iostream>
#include <unistd.h>

namespace umadvisor::cli {
namespace {

int dump(const Arguments& arguments) {
    const std::optional<reader::RangeQuery> ranges = range_query(arguments);
    if (!ranges)
        return usage_error;
    if (::isatty(STDOUT_FILENO) == 0) // else the records show it
        show_reading(1);
    for (const std::string& path : arguments.rest) {
        reader::Trace trace(path, *ranges);
        if (arguments.has("--json"))
            reports::write_json_dump(trace, std::cout);
        else
            reports::write_text_dump(trace, std::cout);
        end_progress();
        for (const std::string& line : reports::completeness_lines(trace))
            say(trace.file.path() + ": " + line);
    }
    return done;
}

} // namespace

const Command dump_command{"dump", "Print every record of a trace in the order of time",
                           "FILE", 1,
                           1,      with_range_options({{"--json", "", "One JSON object per line"}}),
                           &dump};

} // namespace umadvisor::cli
