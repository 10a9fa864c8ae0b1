#include "analyzer/cli/summary_file.hpp"

#include "analyzer/cli/losses.hpp"
#include "analyzer/cli/output_file.hpp"
#include "analyzer/ranks/summary.hpp"

#include <filesystem>

namespace umadvisor::cli {

std::string summary_name(const std::string& trace) {
    const std::filesystem::path path(trace);
    return (path.extension() == ".umtrace" ? path.parent_path() / path.stem() : path).string() + ".umsum";
}

void write_summary(advice::Report& report, const std::string& trace) {
    // As private as the trace that the recorder wrote.
    const std::string name = summary_name(trace);
    write_output_file(name, ranks::holds_summaries(name), ranks::to_line(ranks::summarize(report)), 0600);
}

void add_part(const std::string& path, const symbols::Options& options, ranks::Merged& job) {
    if (ranks::holds_summaries(path)) {
        job.add_file(path);
        return;
    }
    advice::Report report(path, options);
    job.add(ranks::summarize(report));
    say_losses(report.trace);
}

} // namespace umadvisor::cli
