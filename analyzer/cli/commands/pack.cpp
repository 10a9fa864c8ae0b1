#include "analyzer/advice/report.hpp"
#include "analyzer/cli/command.hpp"
#include "analyzer/cli/losses.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/run/trace_output.hpp"
#include "analyzer/cli/stack_options.hpp"
#include "analyzer/cli/terminal/progress.hpp"
#include "analyzer/reader/packed_section.hpp"
#include "analyzer/reports/json/json.hpp"

#include <nlohmann/json.hpp>

namespace umadvisor::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Adds every line that a report quotes: each place in it has a file, a line and the line's text.
void add_quoted(const Json& document, symbols::PackedSymbols& packed) {
    if (const auto source = document.is_object() ? document.find("source") : document.end();
        source != document.end() && source->is_string() && *source != "" && document.contains("line"))
        packed.source_lines.try_emplace(
            {document.at("file").get<std::string>(), document.at("line").get<int>()},
            source->get<std::string>());
    for (const Json& part : document)
        if (part.is_structured())
            add_quoted(part, packed);
}

void write_packed(const Arguments& arguments, OutputFile& file) {
    advice::Report report(arguments.rest.front(), stack_options(arguments));
    symbols::PackedSymbols packed = report.symbolizer.pack();
    if (arguments.has("--source"))
        add_quoted(reports::to_json(report), packed);
    end_progress();
    reader::write_with_section(report.trace.file.source(),
                               packed.empty() ? std::string() : symbols::encode_packed(packed),
                               [&](std::string_view bytes) { file.write(bytes); });
    say_losses(report.trace);
    for (const std::string& warning : report.symbolizer.warnings())
        say(warning);
}

int pack(const Arguments& arguments) {
    // As private as the trace that the recorder wrote.
    return write_output(arguments,
                        "pack needs -o FILE: where the packed trace goes (see umadvisor pack --help)", 0600,
                        [&](OutputFile& file) { write_packed(arguments, file); });
}

} // namespace

const Command pack_command{
    "pack",
    "Write a trace that shows its source lines on any machine",
    "FILE",
    1,
    1,
    with_symbol_options({{"-o,--output", "FILE", "The packed trace"},
                         {"--source", "", "Also pack the source lines that its reports quote"},
                         {"-f,--force", "", "Replace an existing file"}}),
    &pack};

} // namespace umadvisor::cli
