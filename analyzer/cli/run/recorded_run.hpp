/// One run of a program under the shim, and the traces that it leaves.
#pragma once

#include "analyzer/cli/run/launcher.hpp"
#include "analyzer/cli/run/run_list.hpp"

#include <string>
#include <vector>

namespace umadvisor::cli {

struct RecordedRun {
    int status = 0;     ///< as run_program() returns it
    bool known = false; ///< else it did not start, or there is no list of its processes
    /// Processes that entered CUDA. Where none listed itself, those whose traces were written meanwhile under
    /// the output's name: processes of another user or environment do not see the list, and it may be deleted.
    std::vector<RunProcess> processes;
    bool listed = false; ///< the processes listed themselves
};

/// Runs `path` as run_program() does, with `environment`, which preloads the shim. `output` names the traces,
/// as find_traces_since() has it. Where there can be no list, one line on stderr says so unless `quiet`.
RecordedRun record_run(const std::string& path, const std::vector<std::string>& arguments,
                       Environment environment, const std::string& output, bool quiet,
                       const StandardStreams& streams = {});

/// Adds their prices to the traces of a run, so that no report uses another machine's prices. `calibrate`
/// measures devices that are not known yet, which would disturb a program that still runs. Returns lines on
/// what was done and what could not be.
std::vector<std::string> add_rates(const RecordedRun& run, bool calibrate);

} // namespace umadvisor::cli
