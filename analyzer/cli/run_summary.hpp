/// The summary that `umadvisor run` prints at its end.
#pragma once

#include "analyzer/cli/run_list.hpp"

#include <vector>

namespace umadvisor::cli {

/// Says on stderr what each process recorded, and the next command. `told`: they said so themselves; else their
/// traces were found by name.
void summarize(const std::vector<RunProcess>& processes, bool told);

} // namespace umadvisor::cli
