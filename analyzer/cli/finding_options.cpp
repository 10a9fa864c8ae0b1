#include "analyzer/cli/finding_options.hpp"

#include "analyzer/cli/message.hpp"
#include "analyzer/cli/stack_options.hpp"
#include "analyzer/reader/error.hpp"

namespace umadvisor::cli {

std::vector<OptionSpec> with_finding_options(std::vector<OptionSpec> options) {
    options.insert(
        options.end(),
        {{"--only", "RULE[@FILE[:LINE]]",
          "Findings of this rule, by its id or name, at this line of the program or its allocations", true},
         {"--ignore", "RULE[@FILE[:LINE]]", "All but these", true},
         {"--suppressions", "FILE", "Patterns to ignore, one a line, # before a comment", true},
         {"--fail-on", "low|medium|high",
          "Exit status 3 when a finding of this confidence or a higher one is left"}});
    return with_stack_options(std::move(options));
}

std::optional<advice::Selection> selection(const Arguments& arguments) {
    advice::Selection selection;
    try {
        for (const std::string& text : arguments.values("--only"))
            selection.only.push_back(advice::parse_pattern(text));
        for (const std::string& text : arguments.values("--ignore"))
            selection.ignored.push_back(advice::parse_pattern(text));
    } catch (const reader::Error& error) {
        say(error.what());
        return std::nullopt;
    }
    for (const std::string& path : arguments.values("--suppressions"))
        for (advice::FindingPattern& pattern : advice::read_suppressions(path))
            selection.ignored.push_back(std::move(pattern));
    return selection;
}

bool read_fail_on(const Arguments& arguments, std::optional<rules::Confidence>& least) {
    if (!arguments.has("--fail-on"))
        return true;
    least = rules::confidence_called(arguments.value("--fail-on"));
    if (!least)
        say("--fail-on takes low, medium or high, not " + arguments.value("--fail-on"));
    return least.has_value();
}

} // namespace umadvisor::cli
