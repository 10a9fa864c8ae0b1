#include "analyzer/cli/commands/report_job.hpp"

#include "analyzer/cli/message.hpp"
#include "analyzer/cli/progress.hpp"
#include "analyzer/cli/stack_options.hpp"
#include "analyzer/cli/summary_file.hpp"
#include "analyzer/ranks/comparison.hpp"
#include "analyzer/ranks/job_file.hpp"
#include "analyzer/ranks/report.hpp"
#include "analyzer/text/json_text.hpp"

#include <iostream>
#include <nlohmann/json.hpp>

namespace umadvisor::cli {

int report_job(const Arguments& arguments, const text::Terminal& shown_on) {
    for (const char* flag : {"--html", "--output", "--force", "--no-source", "--sarif", "--markdown",
                             "--managed", "--range", "--domain", "--fail-on", "--only", "--ignore",
                             "--suppressions", "--full-stacks", "--machine", "--source"})
        if (arguments.has(flag)) {
            say(fmt::format("{} is for traces; a job of several ranks is shown as text or with --json", flag));
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
    const int status = job.ranks().empty() && job.unknown() != 0 ? operational_error : done;
    if (arguments.has("--json")) {
        std::cout << text::json_text(ranks::to_json(job), 2) << "\n";
        return status;
    }
    text::TerminalText text(shown_on);
    ranks::write_text(job, arguments.has("--all"), text.stream());
    text.print(std::cout);
    return status;
}

} // namespace umadvisor::cli
