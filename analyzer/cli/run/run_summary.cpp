#include "analyzer/cli/run/run_summary.hpp"

#include "analyzer/advice/report.hpp"
#include "analyzer/cli/commands/shim.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/stack_options.hpp"
#include "analyzer/cli/summary_file.hpp"
#include "analyzer/cli/terminal/progress.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/reports/text/text.hpp"
#include "analyzer/rules/words.hpp"
#include "analyzer/text/shell_word.hpp"

#include <filesystem>

namespace umadvisor::cli {
namespace {

/// From the working directory, where it lies below that.
std::string shown_path(const std::string& path) {
    std::error_code failed;
    const std::filesystem::path here = std::filesystem::current_path(failed);
    const std::string near = failed ? path : std::filesystem::path(path).lexically_relative(here).string();
    return near.empty() || near.starts_with("..") ? path : near;
}

/// One that entered CUDA for others: mpirun, a launcher of Python workers.
bool recorded_nothing(const advice::Report& report) {
    return report.profile.records() == 0 && report.trace.dropped_calls.empty() &&
           report.trace.file.completeness().whole();
}

/// Says why not, if so: the trace is there all the same.
void keep_summary(advice::Report& report, const std::string& trace) {
    try {
        write_summary(report, trace);
    } catch (const reader::Error& error) {
        say(error.what());
    }
}

/// Says what there is of one process. Whether its trace is worth a report.
bool summarize(const RunProcess& process, bool keep) {
    const std::string who = "process " + process.pid;
    if (process.path.empty()) {
        say(fmt::format("no trace of {}: {}", who, process.trouble));
        return false;
    }
    const std::string path = shown_path(process.path);
    try {
        advice::Report report(process.path, stack_options());
        end_progress();
        if (std::to_string(report.trace.file.header().pid) != process.pid) {
            say(fmt::format("no trace of {}: {} is another process's by now", who, path));
            return false;
        }
        if (recorded_nothing(report)) {
            if (keep)
                keep_summary(report, process.path);
            say(report.profile.program() + " (pid " + process.pid + "): no CUDA call was recorded: " + path);
            return false;
        }
        say(reports::headline(report));
        if (report.findings.empty())
            say(report.why_empty());
        else
            say(fmt::format(
                "{}; first: {}, {}{}{}", text::count_text(report.findings.size(), "finding"),
                report.findings.front().title,
                text::saving_lead(report.findings.front().saving_ns, report.findings.front().saving_bytes),
                text::saving_text(report.findings.front().saving_ns, report.findings.front().saving_bytes),
                report.unpriced.empty()
                    ? ""
                    : "; " + text::count_text(report.unpriced.size(), "further finding") + " without a price"));
        if (keep)
            keep_summary(report, process.path);
        return report.profile.records() != 0 || !report.trace.dropped_calls.empty();
    } catch (const reader::Error& error) {
        end_progress();
        say(error.what());
        return false;
    }
}

} // namespace

void summarize(const std::vector<RunProcess>& processes, bool listed, bool keep) {
    if (!processes.empty() && !listed)
        say("no process reported its trace; these were written during the run:");
    std::string next;
    for (const RunProcess& process : processes)
        if (summarize(process, keep))
            next += " " + text::shell_path(shown_path(process.path));
    if (!next.empty())
        say("next: umadvisor report" + next);
    else if (processes.empty() && driver_found())
        say("no trace: no process reported one. Either none used CUDA, or one did and could not report its "
            "trace: it ran as another user, in a container, or without UMADVISOR_RUN");
    else if (processes.empty())
        say("no trace: no CUDA driver here (libcuda.so.1 is not found); umadvisor doctor says more");
}

void keep_summaries(const std::vector<RunProcess>& processes) {
    for (const RunProcess& process : processes)
        try {
            if (!process.path.empty()) {
                symbols::Options options = stack_options();
                end_progress(); // nothing is said here but errors
                options.progress = {};
                advice::Report report(process.path, options);
                write_summary(report, process.path);
            }
        } catch (const reader::Error& error) {
            say(error.what());
        }
}

} // namespace umadvisor::cli
