#include "analyzer/cli/command.hpp"
#include "analyzer/cli/compared.hpp"
#include "analyzer/cli/finding_options.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/stack_options.hpp"
#include "analyzer/cli/terminal/progress.hpp"
#include "analyzer/reader/plain.hpp"
#include "analyzer/reports/comparison/comparison.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <array>
#include <iostream>

namespace umadvisor::cli {
namespace {

void apply(const advice::Selection& chosen, reports::ReportedRuns& runs) {
    runs.keep_only([&](const reports::ReportedFinding& finding) {
        return chosen.keeps(finding.rule, std::array{finding.line, finding.allocation_line});
    });
}

void write_check(const reports::Comparison& found, rules::Confidence least, std::size_t compared, bool whole,
                 const std::string& baseline, std::ostream& out) {
    std::size_t failing = 0;
    for (const reports::ReportedFinding& finding : found.came) {
        if (finding.confidence < least)
            continue;
        if (failing++ == 0)
            out << "New since " << baseline << ":\n";
        write_text(finding, out);
    }
    const std::size_t weaker = found.came.size() - failing;
    if (failing == 0) {
        out << text::count_text(compared, "finding") << " compared with " << baseline << ": none is new"
            << (whole ? "" : " in what could be read");
        if (weaker != 0)
            out << " but " << weaker << " of less than " << rules::name(least) << " confidence";
        out << "\n";
    }
    if (!found.went.empty())
        out << text::count_text(found.went.size(), "finding") << " of " << baseline
            << (found.went.size() == 1 ? " is" : " are")
            << " gone; renew it (umadvisor report --json), so that they are new if they come back\n";
}

int check(const Arguments& arguments) {
    const std::string baseline = arguments.value("--baseline");
    if (baseline.empty()) {
        say("check needs --baseline FILE, a report (umadvisor report --json) or a trace of an earlier run");
        return usage_error;
    }
    std::optional<rules::Confidence> fail_on;
    const std::optional<advice::Selection> chosen = selection(arguments);
    if (!chosen || !read_fail_on(arguments, fail_on))
        return usage_error;
    const rules::Confidence least = fail_on.value_or(rules::Confidence::medium);

    const symbols::Options options = stack_options(arguments);
    reports::ReportedRuns before, after;
    add_compared(before, baseline, options);
    for (const std::string& path : arguments.rest)
        add_compared(after, path, options);
    apply(*chosen, before); // or all that is not looked at would seem to have gone
    apply(*chosen, after);
    end_progress();
    const reports::Comparison found = compare(before, after);
    const bool whole = !before.lacks_records() && !after.lacks_records();
    write_check(found, least, after.findings().size(), whole, reader::plain(baseline), std::cout);
    const bool failed = std::ranges::any_of(
        found.came, [&](const reports::ReportedFinding& finding) { return finding.confidence >= least; });
    if (before.lacks_records() || (!whole && !failed)) {
        say("not all that was recorded could be read: such a run cannot pass");
        return operational_error;
    }
    return failed ? findings_left : done;
}

std::vector<OptionSpec> check_options() {
    std::vector<OptionSpec> options = with_finding_options(
        {{"--baseline", "FILE", "A report as JSON, or a trace, of the run to compare with"}});
    for (OptionSpec& option : options)
        if (option.flags == "--fail-on")
            option.help =
                "Exit status 3 when a finding of this confidence or a higher one is new; default: medium";
    return options;
}

} // namespace

const Command check_command{
    "check", "Say which findings are new since another run", "FILE", 1, 1 << 20, check_options(), &check};

} // namespace umadvisor::cli
