#include "analyzer/cli/run/recorded_run.hpp"

#include "analyzer/cli/message.hpp"
#include "analyzer/cli/run/first_calibration.hpp"
#include "analyzer/cli/trace_names.hpp"
#include "analyzer/cli/trace_rates.hpp"
#include "analyzer/reader/error.hpp"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <iterator>
#include <optional>

namespace umadvisor::cli {
namespace {

std::uint64_t realtime() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// Without one the traces are written all the same, and each process says where.
std::optional<RunList> make_list(bool quiet) {
    try {
        return std::make_optional<RunList>();
    } catch (const reader::Error& error) {
        if (!quiet)
            say(fmt::format("{}; which traces belong to this run is unknown", error.what()));
        return std::nullopt;
    }
}

} // namespace

RecordedRun record_run(const std::string& path, const std::vector<std::string>& arguments,
                       Environment environment, const std::string& output, bool quiet,
                       const StandardStreams& streams) {
    const std::optional<RunList> list = make_list(quiet);
    environment.emplace_back("UMADVISOR_RUN", list ? list->path() : "");
    const std::uint64_t begin = realtime();
    RecordedRun run;
    bool started = false;
    run.status = run_program(path, arguments, environment, streams, &started);
    run.known = list && started;
    if (!run.known)
        return run;
    run.processes = list->processes();
    run.listed = !run.processes.empty();
    if (!run.listed)
        for (const FoundTrace& trace : find_traces_since(output, begin))
            run.processes.push_back({trace.pid, trace.path, {}});
    return run;
}

std::vector<std::string> add_rates(const RecordedRun& run, bool calibrate) {
    std::vector<std::string> paths;
    for (const RunProcess& process : run.processes)
        if (!process.path.empty())
            paths.push_back(process.path);
    std::vector<std::string> lines = calibrate ? calibrate_unknown_devices(paths) : std::vector<std::string>();
    std::ranges::move(add_usual_rates(paths), std::back_inserter(lines));
    return lines;
}

} // namespace umadvisor::cli
