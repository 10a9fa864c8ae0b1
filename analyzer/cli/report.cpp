#include "analyzer/reports/report.hpp"

#include "analyzer/cli/command.hpp"
#include "analyzer/cli/finding_options.hpp"
#include "analyzer/cli/losses.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/progress.hpp"
#include "analyzer/cli/range_options.hpp"
#include "analyzer/cli/stack_options.hpp"
#include "analyzer/cli/summary_file.hpp"
#include "analyzer/cli/terminal.hpp"
#include "analyzer/cli/usual_rates.hpp"
#include "analyzer/ranks/comparison.hpp"
#include "analyzer/ranks/job_file.hpp"
#include "analyzer/ranks/report.hpp"
#include "analyzer/reports/json_text.hpp"
#include "analyzer/reports/markdown.hpp"
#include "analyzer/reports/sarif.hpp"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

namespace umadvisor::cli {
namespace {

/// One document in any case, whatever the number of files: JSON has an object for one, an array for several.
class ReportWriter {
public:
    ReportWriter(const Arguments& arguments, reports::Terminal terminal)
        : terminal_(terminal),
          json_(arguments.has("--json")),
          sarif_(arguments.has("--sarif")),
          markdown_(arguments.has("--markdown")) {}

    bool one_format() const { return json_ + sarif_ + markdown_ <= 1; }

    void add(reports::Report& report) {
        if (json_)
            documents_.push_back(reports::to_json(report));
        else if (sarif_)
            log_.add(report);
        else
            print(report);
    }

    void finish() {
        end_progress();
        if (json_)
            print(documents_.size() == 1 ? documents_[0] : documents_);
        else if (sarif_)
            print(log_.document());
    }

private:
    void print(reports::Report& report) {
        // Symbols are looked up meanwhile, with a line of their own on the terminal.
        reports::TerminalText text(markdown_ ? reports::Terminal() : terminal_);
        markdown_ ? reports::write_markdown(report, text.stream()) : reports::write_text(report, text.stream());
        end_progress();
        std::cout << (first_ ? "" : "\n");
        text.print(std::cout);
        first_ = false;
    }
    static void print(const nlohmann::ordered_json& document) {
        std::cout << reports::json_text(document, 2) << "\n";
    }

    reports::Terminal terminal_;
    bool json_, sarif_, markdown_, first_ = true;
    nlohmann::ordered_json documents_ = nlohmann::ordered_json::array();
    reports::SarifLog log_;
};

/// The prices in the file of --machine, whatever its device; without one, those that `umadvisor calibrate` kept
/// for the trace's device.
reports::RatesOf rates_of(const Arguments& arguments) {
    if (!arguments.has("--machine"))
        return &usual_rates;
    return [all = machine::read_rates(arguments.value("--machine"))](const std::string& device) {
        return machine::rates_of(all, device);
    };
}

/// A job is shown whole: what chooses findings, lines or ranges, and other formats, are of one trace.
int report_job(const Arguments& arguments, const reports::Terminal& shown_on) {
    for (const char* flag : {"--sarif", "--markdown", "--managed", "--range", "--domain", "--fail-on", "--only",
                             "--ignore", "--suppressions", "--full-stacks"})
        if (arguments.has(flag)) {
            say(std::string(flag) + " is for traces; a job of several ranks is shown as text or with --json");
            return usage_error;
        }
    ranks::Merged merged;
    for (const std::string& path : arguments.rest)
        add_part(path, stack_options(arguments), merged);
    ranks::Comparison job;
    merged.write([&](std::string_view line) {
        if (line != "\n")
            job.add(ranks::from_line(line, arguments.rest.front()));
    });
    end_progress();
    if (arguments.has("--json")) {
        std::cout << reports::json_text(ranks::to_json(job), 2) << "\n";
        return done;
    }
    reports::TerminalText text(shown_on);
    ranks::write_text(job, arguments.has("--all"), text.stream());
    text.print(std::cout);
    return done;
}

int report(const Arguments& arguments) {
    const std::optional<reports::Terminal> shown_on = terminal(arguments);
    if (!shown_on)
        return usage_error;
    if (std::ranges::any_of(arguments.rest, &ranks::holds_summaries))
        return report_job(arguments, *shown_on);
    ReportWriter writer(arguments, *shown_on);
    if (!writer.one_format()) {
        say("--json, --sarif and --markdown are three formats: give one");
        return usage_error;
    }
    std::optional<findings::Confidence> fail_on;
    const std::optional<reports::Selection> chosen = selection(arguments);
    const std::optional<reader::RangeQuery> ranges = range_query(arguments);
    if (!chosen || !ranges || !read_fail_on(arguments, fail_on))
        return usage_error;
    bool failed = false, partial = false;
    const symbols::Options options = stack_options(arguments);
    const reports::RatesOf rates = rates_of(arguments);
    for (const std::string& path : arguments.rest) {
        reports::Report made(path, options, false, rates, *ranges);
        made.all = arguments.has("--all");
        made.all_managed = arguments.has("--managed");
        chosen->apply(made);
        failed = failed || std::ranges::any_of(made.findings, [&](const findings::Finding& finding) {
                     return fail_on && finding.confidence >= *fail_on;
                 });
        writer.add(made);
        partial = say_losses(made.trace) || partial;
    }
    writer.finish();
    if (failed)
        return findings_left;
    if (!fail_on || !partial)
        return done;
    say("--fail-on: no such finding is left, but not all that was recorded could be read");
    return operational_error;
}

} // namespace

const Command report_command{
    "report",
    "Say what costs time, on which line, and what to write instead; of a job, which ranks deviate",
    "FILE",
    1,
    1 << 20,
    with_terminal_option(with_finding_options(with_range_options(
        {{"--all", "", "In the text, all findings in full, also those that save little"},
         {"--json", "", "The document that docs/report-schema.md describes"},
         {"--machine", "FILE", "What moving memory costs, as written by umadvisor calibrate -o FILE"},
         {"--managed", "", "In the text, all that is known of managed memory"},
         {"--markdown", "", "For a page that shows Markdown"},
         {"--sarif", "", "For tools that show findings on lines (SARIF 2.1.0)"},
         {"--source", "", "Quote the source also for a trace of another user"}}))),
    &report};

} // namespace umadvisor::cli
