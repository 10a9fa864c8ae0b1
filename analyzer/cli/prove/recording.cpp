#include "analyzer/cli/prove/recording.hpp"

#include "analyzer/cli/compared.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/prove/foreign_code.hpp"
#include "analyzer/cli/run/recorded_run.hpp"
#include "analyzer/cli/run/working_directory.hpp"
#include "analyzer/cli/stack_options.hpp"
#include "analyzer/cli/terminal/progress.hpp"
#include "analyzer/reader/error.hpp"

namespace umadvisor::cli {

std::optional<reports::ReportedRuns> record(const TreeCopy& copy, const Side& side, const DiffFile& diff,
                                            const std::string& shim, bool calibrate) {
    const std::string trace = copy.beside(".umtrace");
    const std::string output = copy.beside("-output.log"); // the runs that are compared show it
    Environment environment = preload_environment(shim, trace);
    environment.emplace_back("UMADVISOR_QUIET", "1");
    const WorkingDirectory there(side.folder);
    const RecordedRun run = record_run(side.program, side.command, std::move(environment), trace, false,
                                       {"/dev/null", output, output});
    if (run.status >= least_no_result)
        return std::nullopt;
    for (const std::string& line : add_rates(run, calibrate))
        say(line);
    reports::ReportedRuns reports;
    for (const RunProcess& process : run.processes) {
        if (process.path.empty())
            throw reader::Error(fmt::format("no trace of process {} of the {} program: {}", process.pid,
                                            copy.name, process.trouble));
        add_compared(reports, process.path, stack_options(),
                     {{}, [&](advice::Report& report) { refuse_foreign_code(report, copy, diff); }});
    }
    end_progress();
    if (run.processes.empty())
        throw reader::Error(fmt::format(
            "no process of the {} program entered CUDA: there is no finding to look at", copy.name));
    return reports;
}

} // namespace umadvisor::cli
