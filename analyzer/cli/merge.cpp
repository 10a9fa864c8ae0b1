#include "analyzer/cli/command.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/output_file.hpp"
#include "analyzer/cli/progress.hpp"
#include "analyzer/cli/stack_options.hpp"
#include "analyzer/cli/summary_file.hpp"
#include "analyzer/findings/words.hpp"
#include "analyzer/ranks/job_file.hpp"
#include "analyzer/reader/error.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace umadvisor::cli {
namespace {

namespace fs = std::filesystem;

/// Of a folder: summaries and jobs, and traces that have no summary beside them. Sorted by name.
std::vector<std::string> parts_of(const std::string& path) {
    if (!fs::is_directory(path))
        return {path};
    std::vector<std::string> parts;
    std::error_code failed;
    for (const fs::directory_entry& entry : fs::directory_iterator(path, failed)) {
        const std::string name = entry.path().string(), suffix = entry.path().extension().string();
        if (suffix == ".umsum" || suffix == ".umjob" ||
            (suffix == ".umtrace" && !fs::exists(summary_name(name), failed)))
            parts.push_back(name);
    }
    if (failed)
        throw reader::Error(path + ": " + failed.message());
    if (parts.empty())
        throw reader::Error(path + ": holds no summary (.umsum), job (.umjob) or trace (.umtrace)");
    std::ranges::sort(parts);
    return parts;
}

int merge(const Arguments& arguments) {
    if (!arguments.has("--output")) {
        say("merge needs -o FILE: where the job goes (see umadvisor merge --help)");
        return usage_error;
    }
    const std::string output = arguments.value("--output");
    ranks::Merged job;
    std::error_code failed;
    for (const std::string& path : arguments.rest)
        for (const std::string& part : parts_of(path)) {
            if (fs::equivalent(part, output, failed)) {
                if (part == path)
                    throw reader::Error(output + ": is a part of the job; name another output");
                continue; // what an earlier merge of this folder made
            }
            add_part(part, stack_options(arguments), job);
        }
    OutputFile file(output, arguments.has("--force"));
    job.write([&](std::string_view bytes) { file.write(bytes); });
    end_progress();
    file.commit();
    say(findings::count_text(job.useful(), "rank") +
        (job.useful() == job.size()
             ? ""
             : " and " + findings::count_text(job.size() - job.useful(), "trace") + " without a CUDA call") +
        " in " + output + "; next: umadvisor report " + output);
    return done;
}

} // namespace

const Command merge_command{
    "merge",
    "Make one job of the summaries or traces of its ranks",
    "FILE|DIR",
    1,
    1 << 20,
    with_symbol_options({{"-o,--output", "FILE", "The job (.umjob), for umadvisor report"},
                         {"-f,--force", "", "Replace an existing file"}}),
    &merge};

} // namespace umadvisor::cli
