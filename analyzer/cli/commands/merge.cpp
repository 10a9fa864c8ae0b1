#include "analyzer/cli/command.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/output_file.hpp"
#include "analyzer/cli/stack_options.hpp"
#include "analyzer/cli/summary_file.hpp"
#include "analyzer/cli/terminal/progress.hpp"
#include "analyzer/ranks/job_file.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/rules/words.hpp"
#include "analyzer/text/shell_word.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace umadvisor::cli {
namespace {

namespace fs = std::filesystem;

/// Whether the summary belongs to the trace: both exist, and the trace is not newer.
bool is_of(const std::string& summary, const std::string& trace) {
    std::error_code failed;
    const fs::file_time_type then = fs::last_write_time(trace, failed);
    const fs::file_time_type now = failed ? then : fs::last_write_time(summary, failed);
    return !failed && then <= now;
}

/// Of a folder: summaries and jobs, and traces that have no summary beside them. Sorted by name. `output` may
/// be there as the job of an earlier merge, which is no part. Throws reader::Error where it is anything else.
std::vector<std::string> parts_of(const std::string& path, const std::string& output) {
    std::error_code failed;
    if (!fs::is_directory(path, failed)) {
        if (fs::equivalent(path, output, failed))
            throw reader::Error(output + ": is a part of the job; name another output");
        return {path};
    }
    std::vector<std::string> parts, traces;
    for (const fs::directory_entry& entry : fs::directory_iterator(path, failed)) {
        const std::string name = entry.path().string(), suffix = entry.path().extension().string();
        if (suffix != ".umsum" && suffix != ".umjob" && suffix != ".umtrace")
            continue;
        if (std::error_code none; fs::equivalent(name, output, none)) {
            if (suffix != ".umjob")
                throw reader::Error(output + ": is a part of the job; name another output");
            continue;
        }
        (suffix == ".umtrace" ? traces : parts).push_back(name);
    }
    if (failed)
        throw reader::Error(path + ": " + failed.message());
    for (const std::string& trace : traces)
        if (const std::string summary = summary_name(trace); !is_of(summary, trace)) {
            std::erase(parts, summary);
            parts.push_back(trace);
        }
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
    std::size_t unreadable = 0;
    for (const std::string& path : arguments.rest)
        for (const std::string& part : parts_of(path, output))
            try {
                add_part(part, stack_options(arguments), job);
            } catch (const reader::Error& error) {
                if (part == path)
                    throw;
                say(fmt::format("{}; left out", error.what())); // one of many ranks
                ++unreadable;
            }
    if (job.size() == 0)
        throw reader::Error("none of these files can be read; no job was written");
    OutputFile file(output, arguments.has("--force"));
    job.write([&](std::string_view bytes) { file.write(bytes); });
    end_progress();
    file.commit();
    const auto others = [](std::size_t count, const std::string& what) {
        return count == 0 ? std::string() : fmt::format(" and {}{}", text::count_text(count, "trace"), what);
    };
    say(fmt::format("{}{}{} in {}; next: umadvisor report {}", text::count_text(job.useful(), "rank"),
                    others(job.size() - job.useful() - job.unknown(), " without a CUDA call"),
                    others(job.unknown(), " without a readable call"), output, text::shell_path(output)));
    return unreadable + job.unknown() == 0 ? done : operational_error;
}

} // namespace

const Command merge_command{
    "merge",
    "Merge the summaries or traces of a job's ranks",
    "FILE|DIR",
    1,
    1 << 20,
    with_symbol_options({{"-o,--output", "FILE", "The job (.umjob), for umadvisor report"},
                         {"-f,--force", "", "Replace an existing file"}}),
    &merge};

} // namespace umadvisor::cli
