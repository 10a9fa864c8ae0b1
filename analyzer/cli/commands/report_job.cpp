#include "analyzer/cli/commands/report_job.hpp"

#include "analyzer/cli/message.hpp"
#include "analyzer/cli/newest_trace.hpp"
#include "analyzer/cli/output_file.hpp"
#include "analyzer/cli/stack_options.hpp"
#include "analyzer/cli/summary_file.hpp"
#include "analyzer/cli/terminal/progress.hpp"
#include "analyzer/ranks/comparison.hpp"
#include "analyzer/ranks/job_file.hpp"
#include "analyzer/ranks/report.hpp"
#include "analyzer/reports/html/job_page.hpp"
#include "analyzer/text/json_text.hpp"

#include <cctype>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

namespace umadvisor::cli {
namespace {

/// The address, relative to the folder of `file`, of the page of a rank that lies there under the name of its
/// trace; empty: none does. The name is from a file that others may have written.
std::string page_beside(const std::filesystem::path& file, const std::string& trace) {
    const std::filesystem::path name = std::filesystem::path(trace).filename().replace_extension(".html");
    std::error_code failed;
    if (trace.empty() || name == file.filename() ||
        !std::filesystem::is_regular_file(file.parent_path() / name, failed))
        return {};
    std::string address = "./";
    for (const char c : name.string())
        if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_')
            address += c;
        else
            address += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    return address;
}

} // namespace

int report_job(const Arguments& arguments, const text::Terminal& shown_on) {
    for (const char* flag :
         {"--no-source", "--sarif", "--markdown", "--managed", "--range", "--domain", "--fail-on", "--only",
          "--ignore", "--suppressions", "--full-stacks", "--machine", "--source"})
        if (arguments.has(flag)) {
            say(fmt::format(
                "{} is for traces; a job of several ranks is shown as text, or with --json or --html", flag));
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
    if (arguments.has("--html")) {
        const bool to_file = arguments.has("--output");
        const std::string output = to_file ? arguments.value("--output") : std::string();
        const std::filesystem::path beside(to_file ? output : arguments.rest.front());
        const std::string page = html::job_page(
            job, UMADVISOR_VERSION, [&](const std::string& trace) { return page_beside(beside, trace); });
        if (to_file)
            write_output_file(output, arguments.has("--force"), page);
        else
            std::cout << page;
        if (arguments.has("--open"))
            open_in_browser(output);
        return status;
    }
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
