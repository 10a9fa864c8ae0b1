#include "analyzer/advice/report.hpp"
#include "analyzer/reports/json/json.hpp"
#include "analyzer/reports/text/text.hpp"

#include "analyzer/cli/command.hpp"
#include "analyzer/cli/commands/report_job.hpp"
#include "analyzer/cli/finding_options.hpp"
#include "analyzer/cli/losses.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/newest_trace.hpp"
#include "analyzer/cli/output_file.hpp"
#include "analyzer/cli/range_options.hpp"
#include "analyzer/cli/rule_pages.hpp"
#include "analyzer/cli/run/trace_output.hpp"
#include "analyzer/cli/source_root.hpp"
#include "analyzer/cli/stack_options.hpp"
#include "analyzer/cli/terminal/pager.hpp"
#include "analyzer/cli/terminal/progress.hpp"
#include "analyzer/cli/terminal/terminal.hpp"
#include "analyzer/patch/patch.hpp"
#include "analyzer/ranks/job_file.hpp"
#include "analyzer/reports/html/page.hpp"
#include "analyzer/reports/markdown/markdown.hpp"
#include "analyzer/reports/sarif/sarif.hpp"
#include "analyzer/text/json_text.hpp"
#include "analyzer/timeline/jobs.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

namespace umadvisor::cli {
namespace {

/// One document in any case, whatever the number of files: JSON has an object for one, an array for several.
class ReportWriter {
public:
    ReportWriter(const Arguments& arguments, text::Terminal terminal)
        : terminal_(terminal),
          json_(arguments.has("--json")),
          sarif_(arguments.has("--sarif")),
          markdown_(arguments.has("--markdown")) {}

    ReportWriter(const ReportWriter&) = delete;
    ReportWriter& operator=(const ReportWriter&) = delete;
    ~ReportWriter() { print_texts(); } // also where a further trace cannot be read

    bool one_format() const { return json_ + sarif_ + markdown_ <= 1; }

    void add(advice::Report& report) {
        if (json_)
            documents_.push_back(reports::to_json(report));
        else if (sarif_)
            log_.add(report);
        else
            print(report);
    }

    void finish() {
        end_progress();
        print_texts();
        if (json_)
            print(documents_.size() == 1 ? documents_[0] : documents_);
        else if (sarif_)
            print(log_.document());
    }

private:
    void print(advice::Report& report) {
        // Symbols are looked up meanwhile, with a line of their own on the terminal.
        text::TerminalText& text = texts_.emplace_back(markdown_ ? text::Terminal() : terminal_);
        markdown_ ? reports::write_markdown(report, text.stream()) : reports::write_text(report, text.stream());
    }
    /// Behind all messages, which a pager would hide.
    void print_texts() {
        if (texts_.empty())
            return;
        end_progress();
        const Pager pager;
        for (text::TerminalText& text : texts_) {
            std::cout << (&text == &texts_.front() ? "" : "\n");
            text.print(std::cout);
        }
        texts_.clear();
    }
    static void print(const nlohmann::ordered_json& document) {
        std::cout << text::json_text(document, 2) << "\n";
    }

    text::Terminal terminal_;
    bool json_, sarif_, markdown_;
    std::deque<text::TerminalText> texts_;
    nlohmann::ordered_json documents_ = nlohmann::ordered_json::array();
    reports::SarifLog log_;
};

/// The prices in the file of --machine, of any device; without one, nothing. What this machine has
/// calibrated does not count: a trace has the same report wherever it is read.
advice::RatesOf rates_of(const Arguments& arguments) {
    if (!arguments.has("--machine"))
        return {};
    return [all = machine::read_rates(arguments.value("--machine"))](const std::string& device) {
        return machine::rates_of(all, device);
    };
}

std::string_view page_of_rule(std::string_view id) {
    for (const RulePage& page : rule_pages())
        if (page.id == id)
            return page.text;
    return {};
}

bool editor_is(std::string_view name) {
    const char* const named = std::getenv("UMADVISOR_EDITOR");
    return named != nullptr && name == named;
}

/// Says why not, if so.
bool html_is_possible(const Arguments& arguments) {
    if (!arguments.has("--html")) {
        for (const std::string option : {"--output", "--force", "--no-source"})
            if (arguments.has(option)) {
                say(option + " goes with --html");
                return false;
            }
        return true;
    }
    std::string trouble;
    if (arguments.has("--json") || arguments.has("--sarif") || arguments.has("--markdown"))
        trouble = "--html, --json, --sarif and --markdown are four formats: give one";
    else if (arguments.rest.size() != 1)
        trouble = "--html takes one trace or job";
    else if (arguments.has("--force") && !arguments.has("--output"))
        trouble = "--force needs -o FILE";
    if (!trouble.empty())
        say(trouble);
    return trouble.empty();
}

/// Writes the page of the one report that there is.
void write_html(html::PageMaker& maker, advice::Report& made, const Arguments& arguments) {
    const std::string page = maker.page(made);
    end_progress();
    if (arguments.has("--output"))
        write_output_file(arguments.value("--output"), arguments.has("--force"), page);
    else
        std::cout << page;
}

/// With what the options leave out: of no trace the newest one, and for --open the page and its name.
Arguments completed(Arguments arguments) {
    if (arguments.rest.empty()) {
        arguments.rest.push_back(newest_trace());
        say("the newest trace here: " + arguments.rest.front());
    }
    if (arguments.has("--open")) {
        arguments.set("--html", {});
        if (!arguments.has("--output"))
            arguments.set("--output",
                          {std::filesystem::path(arguments.rest.front()).replace_extension(".html").string()});
    }
    return arguments;
}

/// Says why not, if it cannot.
bool read_jobs(const Arguments& arguments) {
    if (!arguments.has("--jobs")) {
        if (arguments.has("--html")) // the timeline and the replay, beside the check of the order
            timeline::set_jobs(std::max(1u, std::thread::hardware_concurrency()) + 1);
        return true;
    }
    constexpr unsigned most_jobs = 1024;
    const std::string text = arguments.value("--jobs");
    unsigned jobs = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), jobs);
    if (error != std::errc() || end != text.data() + text.size() || jobs == 0 || jobs > most_jobs) {
        say(fmt::format("--jobs takes a number of threads from 1 to {}, not {}", most_jobs, text));
        return false;
    }
    timeline::set_jobs(jobs);
    return true;
}

int report(const Arguments& given) {
    const Arguments arguments = completed(given);
    if (!html_is_possible(arguments) || !read_jobs(arguments))
        return usage_error;
    const bool as_page = arguments.has("--html");
    if (as_page && !html::available()) {
        say("this umadvisor was built without npm, so it has no HTML: install npm and build it again");
        return operational_error;
    }
    if (as_page && arguments.has("--output")) {
        check_is_not_input(arguments.value("--output"), arguments.rest.front());
        check_output_name(arguments.value("--output"), arguments.has("--force"));
    }
    const std::optional<text::Terminal> shown_on = terminal(arguments);
    if (!shown_on)
        return usage_error;
    if (std::ranges::any_of(arguments.rest, &ranks::holds_summaries))
        return report_job(arguments, *shown_on);
    ReportWriter writer(arguments, *shown_on);
    if (!writer.one_format()) {
        say("--json, --sarif and --markdown are three formats: give one");
        return usage_error;
    }
    std::optional<rules::Confidence> fail_on;
    const std::optional<advice::Selection> chosen = selection(arguments);
    const std::optional<reader::RangeQuery> ranges = range_query(arguments);
    if (!chosen || !ranges || !read_fail_on(arguments, fail_on))
        return usage_error;
    bool failed = false, partial = false;
    symbols::Options options = stack_options(arguments);
    if (as_page)
        show_reading(4); // the timeline is one pass more
    options.source.named = !arguments.has("--no-source");
    const advice::RatesOf rates = rates_of(arguments);
    for (const std::string& path : arguments.rest) {
        html::PageMaker maker(
            {!arguments.has("--no-source"), &page_of_rule, UMADVISOR_VERSION, editor_is("vscode")});
        std::function<std::function<void()>(advice::Report&)> beside;
        if (as_page)
            beside = [&maker](advice::Report& report) { return maker.beside(report); };
        advice::Report made(path, options, false, rates, *ranges, beside);
        made.all = arguments.has("--all");
        made.all_managed = arguments.has("--managed");
        chosen->apply(made);
        for (const std::vector<rules::Finding>* const list : {&made.findings, &made.unpriced})
            failed = failed || std::ranges::any_of(*list, [&](const rules::Finding& finding) {
                         return fail_on && finding.confidence >= *fail_on;
                     });
        if (arguments.has("--patch") || (as_page && options.source.named && patch::available()))
            for (const patch::Patched& each : patch::make_patches(made, {source_root(arguments), {}}).made)
                made.patches.emplace(each.finding, each.diff);
        as_page ? write_html(maker, made, arguments) : writer.add(made);
        if (arguments.has("--open"))
            open_in_browser(arguments.value("--output"));
        partial = say_losses(made.trace) || partial;
    }
    const bool passes = failed || !fail_on || !partial;
    if (!passes)
        say("--fail-on: no such finding is left, but not all that was recorded could be read");
    if (!as_page)
        writer.finish();
    return failed ? findings_left : passes ? done : operational_error;
}

} // namespace

const Command report_command{
    "report",
    "Say what costs time, on which line, and what to write instead; of a job, which ranks deviate",
    "FILE",
    0,
    1 << 20,
    with_terminal_option(with_finding_options(with_range_options(
        {{"--all", "", "In the text, all findings in full, including those that save little"},
         {"-f,--force", "", "With --html, replace an existing file"},
         {"--html", "", "One page for a browser, with a timeline; loads nothing from the network"},
         {"--jobs", "N", "Number of threads; default: one for each core, and one more with --html"},
         {"--json", "", "The document that docs/report-schema.md describes"},
         {"--machine", "FILE", "Rates of the machine, as written by umadvisor calibrate -o FILE"},
         {"--managed", "", "In the text, everything known about managed memory"},
         {"--markdown", "", "For a page that shows Markdown"},
         {"--no-source", "", "With --html, quote no source lines"},
         {"--open", "", "Write the page beside the trace (or to --output) and open it in a browser"},
         {"-o,--output", "FILE", "With --html, the output file; default: standard output"},
         {"--patch", "", "With each finding its remedy as a diff, where one can be made; pages have it anyway"},
         {"--sarif", "", "For tools that show findings on lines (SARIF 2.1.0)"},
         {"--source", "", "Quote the source also for a trace of another user"},
         {"--source-root", "DIR",
          "Folder that paths in diffs are relative to; default: as umadvisor patch"}}))),
    &report};

} // namespace umadvisor::cli
