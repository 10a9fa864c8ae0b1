#include "analyzer/cli/commands/export_format.hpp"
#include "analyzer/cli/losses.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/stack_options.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/reports/memory_viz/memory_viz.hpp"

#include <charconv>
#include <string>

namespace umadvisor::cli {
namespace {

/// 0: it is no such number.
std::size_t entries_of(const std::string& text) {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

bool check_memory_viz(const Arguments& arguments) {
    if (!arguments.has("--limit") || entries_of(arguments.value("--limit")) != 0)
        return true;
    say("--limit takes a number of entries, 1 or more, not " + arguments.value("--limit"));
    return false;
}

void write_memory_viz(const Arguments& arguments, OutputFile& file) {
    reader::Trace trace(arguments.rest.front());
    const symbols::Options symbols = stack_options(arguments);
    symbols::Symbolizer symbolizer(trace.dictionary, symbols, symbols::packed_symbols(trace.file.source()));
    reports::MemoryVizOptions options{.at_oom = arguments.has("--at-oom"), .full_stacks = symbols.full_stacks};
    if (arguments.has("--limit"))
        options.limit = entries_of(arguments.value("--limit"));
    const reports::MemoryVizTotals totals = reports::write_memory_viz(
        trace, symbolizer, options, [&](std::string_view bytes) { file.write(bytes); });
    say_losses(trace);
    for (const std::string& warning : symbolizer.warnings())
        say(warning);
    if (options.at_oom && !totals.any_oom)
        throw reader::Error(trace.file.path() +
                            ": no allocation on a device failed because memory ran out; remove --at-oom");
    if (totals.left_out != 0)
        say(fmt::format("{}: the newest {} entries of its history are written, {} older ones are not (--limit)",
                        trace.file.path(), totals.entries, totals.left_out));
}

} // namespace

const ExportFormat& memory_viz_format() {
    static const ExportFormat format{
        {"--memory-viz", "",
         "A memory snapshot (pickle) for pytorch.org/memory_viz and torch.cuda._memory_viz"},
        {{"--limit", "N", "--memory-viz: keep the newest N entries of the history (100,000)"},
         {"--at-oom", "", "--memory-viz: end with the first allocation that failed because memory ran out"}},
        1,
        &check_memory_viz,
        &write_memory_viz};
    return format;
}

} // namespace umadvisor::cli
