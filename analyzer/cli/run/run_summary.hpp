/// The summary that `umadvisor run` prints at its end.
#pragma once

#include "analyzer/cli/run/run_list.hpp"

#include <vector>

namespace umadvisor::cli {

/// Says on stderr what each process recorded, and the next command. `listed`: the processes listed themselves;
/// else their traces were found by name. `keep`: each gets a file with its summary, for umadvisor merge.
void summarize(const std::vector<RunProcess>& processes, bool listed, bool keep);

/// Writes only the files with summaries. Says what could not be written.
void keep_summaries(const std::vector<RunProcess>& processes);

} // namespace umadvisor::cli
