#include "analyzer/patch/patch.hpp"

#include "analyzer/cli/command.hpp"
#include "analyzer/cli/finding_options.hpp"
#include "analyzer/cli/losses.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/newest_trace.hpp"
#include "analyzer/cli/source_root.hpp"
#include "analyzer/cli/stack_options.hpp"
#include "analyzer/cli/terminal/progress.hpp"
#include "analyzer/text/figures.hpp"

#include <charconv>
#include <iostream>

namespace umadvisor::cli {
namespace {

int patch(const Arguments& arguments) {
    patch::Options options;
    if (arguments.has("--number")) {
        const std::string text = arguments.value("--number");
        std::size_t number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc() || end != text.data() + text.size() || number == 0) {
            say("-n takes the number of a finding, from 1, not " + text);
            return usage_error;
        }
        options.number = number;
    }
    const std::optional<advice::Selection> chosen = selection(arguments);
    if (!chosen)
        return usage_error;
    options.source_root = source_root(arguments);
    std::string trace = arguments.rest.empty() ? newest_trace() : arguments.rest.front();
    if (arguments.rest.empty())
        say("the newest trace here: " + trace);
    advice::Report report(trace, stack_options(arguments));
    chosen->apply(report);
    if (options.number && *options.number > report.findings.size()) {
        say(fmt::format("-n {}: the report has {}", *options.number,
                        text::count_text(report.findings.size(), "finding")));
        return operational_error;
    }
    const patch::Patches patches = patch::make_patches(report, options);
    end_progress();
    std::cout << patches.diff;
    say_losses(report.trace);
    for (const patch::Unpatched& each : patches.unpatched)
        say(fmt::format("no patch for {} at {}: {}", each.finding->rule->id, each.line, each.why));
    if (patches.made.empty() && patches.unpatched.empty())
        say("there is no finding to patch");
    return patches.made.empty() ? operational_error : done;
}

} // namespace

const Command patch_command{
    "patch",
    "Write remedies as a diff against the sources, for patch -p1 or git apply",
    "FILE",
    0,
    1,
    [] {
        std::vector<OptionSpec> options = with_finding_options(
            {{"-n,--number", "K", "Only the report's finding of this number"},
             {"--source-root", "DIR",
              "Folder that paths in the diff are relative to; default: the root of the git working tree, else "
              "the current folder"}});
        std::erase_if(options, [](const OptionSpec& option) { return option.flags == "--fail-on"; });
        return options;
    }(),
    &patch};

} // namespace umadvisor::cli
