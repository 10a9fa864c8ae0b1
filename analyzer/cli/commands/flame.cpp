#include "analyzer/reports/flame/flame.hpp"

#include "analyzer/cli/command.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/output_file.hpp"
#include "analyzer/cli/range_options.hpp"
#include "analyzer/cli/stack_options.hpp"
#include "analyzer/cli/weighing.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/text/json_text.hpp"

#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

namespace umadvisor::cli {
namespace {

std::string text_of(const reports::WeighedStacks& stacks, bool speedscope) {
    if (speedscope)
        return text::json_text(reports::to_speedscope(stacks), 1) + "\n";
    std::ostringstream text;
    reports::write_collapsed(stacks, text);
    return std::move(text).str();
}

int flame(const Arguments& arguments) {
    const std::string format = arguments.value("--format"), output = arguments.value("--output");
    const std::optional<reports::Weight> by = weight_of(arguments);
    const std::optional<reader::RangeQuery> ranges = range_query(arguments);
    if (!by || !ranges)
        return usage_error;
    if (arguments.has("--format") && format != "collapsed" && format != "speedscope") {
        say("--format takes collapsed or speedscope, not " + format);
        return usage_error;
    }
    const bool force = arguments.has("--force");
    if (!output.empty())
        check_output_name(output, force);
    const std::string text = text_of(weigh(arguments, *by, *ranges), format == "speedscope");
    if (output.empty())
        std::cout << text;
    else
        write_output_file(output, force, text);
    return done;
}

} // namespace

const Command flame_command{
    "flame",
    "Stacks with their weights, for tools that draw flame graphs",
    "FILE",
    1,
    1,
    with_stack_options(with_range_options(
        {weight_option(),
         {"--format", "collapsed|speedscope",
          "A line for each stack, as flamegraph.pl reads it (the default), or JSON for speedscope"},
         {"-o,--output", "FILE", "Instead of the standard output"},
         {"-f,--force", "", "Replace an existing file"}})),
    &flame};

} // namespace umadvisor::cli
