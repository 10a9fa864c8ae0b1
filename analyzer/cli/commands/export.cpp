#include "analyzer/cli/command.hpp"
#include "analyzer/cli/commands/export_format.hpp"
#include "analyzer/cli/losses.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/run/trace_output.hpp"
#include "analyzer/cli/stack_options.hpp"
#include "analyzer/cli/terminal/progress.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace umadvisor::cli {
namespace {

std::vector<const ExportFormat*> formats() {
    return {&memory_viz_format(), &perfetto_format(), &sqlite_format()};
}

std::string flag_of(const ExportFormat& format) {
    return std::string(format.flag.flags);
}

/// nullptr: not exactly one was asked for.
const ExportFormat* chosen(const Arguments& arguments) {
    const auto is_asked = [&](const ExportFormat* format) { return arguments.has(flag_of(*format)); };
    const std::vector<const ExportFormat*> all = formats();
    return std::ranges::count_if(all, is_asked) == 1 ? *std::ranges::find_if(all, is_asked) : nullptr;
}

/// An option that was given and is another format's; empty: none was.
std::string foreign_option(const Arguments& arguments, const ExportFormat& format) {
    for (const ExportFormat* each : formats())
        for (const OptionSpec& option : each->options)
            if (each != &format && arguments.has(std::string(option.flags)))
                return fmt::format("{} goes with {}", option.flags, flag_of(*each));
    return {};
}

int export_traces(const Arguments& arguments) {
    const ExportFormat* const format = chosen(arguments);
    if (format == nullptr) {
        std::string flags;
        for (const ExportFormat* each : formats())
            flags += (flags.empty() ? "" : ", ") + flag_of(*each);
        say("export takes one format: " + flags);
        return usage_error;
    }
    if (arguments.rest.size() > format->most_traces) {
        say(flag_of(*format) + " takes one trace at a time");
        return usage_error;
    }
    if (const std::string trouble = foreign_option(arguments, *format); !trouble.empty()) {
        say(trouble);
        return usage_error;
    }
    if (format->check != nullptr && !format->check(arguments))
        return usage_error;
    return write_output(
        arguments, "export needs -o FILE, where " + flag_of(*format) + " goes (see umadvisor export --help)",
        0666, [&](OutputFile& file) { format->write(arguments, file); });
}

std::vector<OptionSpec> all_options() {
    std::vector<OptionSpec> options;
    for (const ExportFormat* format : formats()) {
        options.push_back(format->flag);
        options.insert(options.end(), format->options.begin(), format->options.end());
    }
    options.push_back({"-o,--output", "FILE", "What is written"});
    options.push_back({"-f,--force", "", "Replace an existing file"});
    return with_stack_options(std::move(options));
}

} // namespace

void for_each_report(const Arguments& arguments,
                     const std::function<void(advice::Report&, const std::string& path)>& then) {
    const symbols::Options symbols = stack_options(arguments);
    std::set<std::string> said; // all ranks of a job lack the same files
    for (const std::string& path : arguments.rest) {
        advice::Report report(path, symbols);
        then(report, path);
        end_progress();
        say_losses(report.trace);
        for (const std::string& warning : report.symbolizer.warnings())
            if (said.insert(warning).second)
                say(warning);
    }
}

const Command export_command{"export",      "Write traces for another tool", "FILE", 1, 1 << 20, all_options(),
                             &export_traces};

} // namespace umadvisor::cli
