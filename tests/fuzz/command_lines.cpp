#include "command_lines.hpp"

#include "analyzer/cli/command.hpp"
#include "analyzer/reports/html/page.hpp"
#include "analyzer/reports/stats/stats.hpp"
#include "analyzer/reports/weights.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>

namespace umadvisor::fuzz {
namespace {

/// They run programs, use a device, or read no trace.
constexpr std::array<std::string_view, 10> other_commands{
    "run", "attach", "top", "ab", "prove", "doctor", "calibrate", "explain", "completion", "help"};

/// They name files or servers of the user's own, start a browser, or write a file in place of the standard
/// output. The last three are not there without npm.
constexpr std::array<std::string_view, 11> other_options{
    "--debug-dir", "--sysroot",  "--debuginfod", "--suppressions", "--machine", "--output",
    "--force",     "--no-cache", "--html",       "--no-source",    "--open"};

template <class Range>
bool holds(const Range& range, std::string_view value) {
    return std::ranges::find(range, value) != std::ranges::end(range);
}

std::vector<std::string> words(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> all;
    for (std::string word; in >> word;)
        all.push_back(word);
    return all;
}

class Lines {
public:
    void add(const std::string& text, Format format = Format::text, bool gate = false) {
        all.push_back({words(text), format, gate});
    }
    std::vector<CommandLine> all;
};

void add_reports(Lines& lines) {
    for (const char* options :
         {"", " --all", " --all --full-stacks", " --all --no-cache", " --all --source",
          " --all --hide *train* --show *secret*", " --only UMA-101", " --ignore UMA-101 --all"})
        lines.add("report TRACE" + std::string(options));
    lines.add("report --all --color always TRACE", Format::coloured);
    lines.add("report --fail-on low TRACE", Format::text, true);
    lines.add("report TRACE OTHER");
    lines.add("report --json --jobs 2 TRACE", Format::json);
    lines.add("report --json --full-stacks --no-cache TRACE OTHER", Format::json);
    lines.add("report --markdown TRACE", Format::markdown);
    lines.add("report --markdown --all TRACE OTHER", Format::markdown);
    lines.add("report --managed --all TRACE");
    if (html::available()) {
        lines.add("report --html TRACE", Format::html);
        lines.add("report --html --no-source TRACE", Format::html);
    }
    lines.add("report --sarif TRACE", Format::sarif);
    lines.add("report --sarif --full-stacks --source --fail-on low TRACE OTHER", Format::sarif, true);
}

void add_comparisons(Lines& lines) {
    for (const char* files : {" TRACE OTHER", " OTHER TRACE", " TRACE BASELINE"}) {
        lines.add("diff" + std::string(files));
        lines.add("diff --json" + std::string(files), Format::json);
        if (html::available())
            lines.add("diff --html" + std::string(files), Format::html);
    }
    lines.add("diff --color always --full-stacks --hide a --show b OTHER TRACE", Format::coloured);
    lines.add("check --baseline OTHER TRACE", Format::text, true);
    lines.add("check --baseline TRACE OTHER", Format::text, true);
    lines.add("check --baseline BASELINE TRACE", Format::text, true);
    lines.add("check --fail-on low --ignore UMA-101 --only UMA-102 --hide a --show b --full-stacks --baseline "
              "BASELINE TRACE",
              Format::text, true);
}

void add_tables(Lines& lines) {
    const std::pair<const char*, Format> formats[] = {
        {"text", Format::text}, {"csv", Format::csv}, {"json", Format::json}};
    for (const auto& [name, format] : formats) {
        lines.add("stats TRACE --format " + std::string(name), format);
        for (const std::string_view table : reports::stats_tables)
            lines.add("stats TRACE --format " + std::string(name) + " --table " + std::string(table), format);
    }
    lines.add("stats --color always --full-stacks --hide a --show b TRACE", Format::coloured);
}

void add_stacks(Lines& lines) {
    for (const reports::Weight weight : reports::weights) {
        const std::string by = " --by " + std::string(name(weight));
        lines.add("tree TRACE" + by);
        lines.add("flame TRACE" + by, Format::collapsed);
        lines.add("flame TRACE --format speedscope" + by, Format::json);
    }
    lines.add("tree TRACE --threshold 0 --width 60 --full-stacks --hide a --show b");
    lines.add("tree TRACE --color always", Format::coloured);
    lines.add("flame TRACE --full-stacks --hide a --show b", Format::collapsed);
}

void add_others(Lines& lines) {
    lines.add("dump TRACE", Format::dump);
    lines.add("dump --json TRACE", Format::json_dump);
    for (const char* options : {"", " --limit 1", " --limit 100 --at-oom"})
        lines.add("export TRACE --memory-viz --force --full-stacks --hide a --show b --output " +
                  std::string(output_file) + std::string(options));
    for (const char* format : {" --perfetto", " --sqlite"})
        for (const char* options : {"", " OTHER", " TRACE --full-stacks --hide a --show b"})
            lines.add("export TRACE --force --output " + std::string(output_file) + format + options);
    for (const char* options : {"", " --source"})
        lines.add("pack TRACE --force --output " + std::string(output_file) + std::string(options));
    for (const char* parts : {"TRACE", "TRACE OTHER", "BASELINE"})
        lines.add("merge --force --output " + std::string(output_file) + " " + parts);
    lines.add("report BASELINE");
    lines.add("patch --source-root / TRACE");
    lines.add("report --all --patch --source-root / TRACE");
    lines.add("report --json --patch --source-root / TRACE", Format::json);
    lines.add("patch --source-root / --number 1 --full-stacks --hide a --show b --only UMA-101 TRACE");
    lines.add("patch --source-root / --ignore UMA-101 TRACE");
    lines.add("plan TRACE", Format::json);
    lines.add("plan TRACE OTHER", Format::json);
    for (const char* options :
         {"", " --gpu-memory 1GiB", " --link 12.5", " --act rewrite=all", " --act prefetch,rewrite=all"}) {
        lines.add("whatif TRACE" + std::string(options));
        lines.add("whatif --json TRACE" + std::string(options), Format::json);
    }
}

/// Any name, of any domain: made-up ranges have names that nobody can foresee.
void add_ranges(Lines& lines) {
    const std::string_view any = " TRACE --range * --domain *";
    lines.add("report --all" + std::string(any));
    lines.add("report --json" + std::string(any), Format::json);
    lines.add("stats" + std::string(any));
    lines.add("tree" + std::string(any));
    lines.add("flame" + std::string(any), Format::collapsed);
    lines.add("dump" + std::string(any), Format::dump);
    lines.add("dump --json" + std::string(any), Format::json_dump);
}

void check_complete(const std::vector<CommandLine>& lines) {
    for (const cli::Command* command : cli::commands()) {
        std::vector<std::string> used;
        for (const CommandLine& line : lines)
            if (line.arguments.front() == command->name)
                used.insert(used.end(), line.arguments.begin(), line.arguments.end());
        if (used.empty() != holds(other_commands, command->name))
            throw std::logic_error("no command line of " + std::string(command->name));
        if (used.empty())
            continue;
        for (const cli::OptionSpec& option : command->options) {
            const std::string_view flag = option.flags.substr(option.flags.find_last_of(',') + 1);
            if (!holds(used, flag) && !holds(other_options, flag))
                throw std::logic_error("no command line of " + std::string(command->name) + " with " +
                                       std::string(flag));
        }
    }
}

} // namespace

bool CommandLine::reads(const std::string& file) const {
    return holds(arguments, file);
}

std::string CommandLine::name() const {
    std::string text;
    for (const std::string& argument : arguments)
        text += (text.empty() ? "" : " ") + argument;
    return text;
}

std::vector<CommandLine> command_lines() {
    Lines lines;
    add_reports(lines);
    add_comparisons(lines);
    add_tables(lines);
    add_stacks(lines);
    add_others(lines);
    add_ranges(lines);
    check_complete(lines.all);
    return lines.all;
}

} // namespace umadvisor::fuzz
