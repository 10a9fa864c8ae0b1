#include "analyzer/reports/flame.hpp"

#include "analyzer/cli/command.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/stack_options.hpp"
#include "analyzer/cli/trace_names.hpp"
#include "analyzer/cli/weighing.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

namespace umadvisor::cli {
namespace {

void write(const reports::WeighedStacks& stacks, bool speedscope, std::ostream& out) {
    if (speedscope)
        out << reports::to_speedscope(stacks).dump(1, ' ', false,
                                                   nlohmann::ordered_json::error_handler_t::replace)
            << "\n";
    else
        reports::write_collapsed(stacks, out);
    out.flush();
}

int flame(const Arguments& arguments) {
    const std::string format = arguments.value("--format"), output = arguments.value("--output");
    const std::optional<model::Weight> by = weight_of(arguments);
    if (!by)
        return usage_error;
    if (arguments.has("--format") && format != "collapsed" && format != "speedscope") {
        say("--format takes collapsed or speedscope, not " + format);
        return usage_error;
    }
    if (arguments.has("--output"))
        if (const std::string trouble = output_trouble(output, arguments.has("--force")); !trouble.empty()) {
            say(trouble);
            return operational_error;
        }
    const reports::WeighedStacks stacks = weigh(arguments, *by);
    if (!arguments.has("--output")) {
        write(stacks, format == "speedscope", std::cout);
        return std::cout ? done : operational_error;
    }
    errno = 0;
    std::ofstream file(output, std::ios::binary | std::ios::trunc);
    write(stacks, format == "speedscope", file);
    if (!file)
        say(output + ": " + std::strerror(errno == 0 ? EIO : errno));
    return file ? done : operational_error;
}

} // namespace

const Command flame_command{
    "flame",
    "Stacks and what they weigh, for programs that draw flame graphs",
    "FILE",
    1,
    1,
    with_stack_options(
        {weight_option(),
         {"--format", "collapsed|speedscope",
          "A line for each stack, as flamegraph.pl reads it (the default), or JSON for speedscope"},
         {"-o,--output", "FILE", "Instead of the standard output"},
         {"-f,--force", "", "Replace an existing file"}}),
    &flame};

} // namespace umadvisor::cli
