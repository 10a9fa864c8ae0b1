/// Recorded runs of the copies of a tree.
#pragma once

#include "analyzer/cli/prove/diff_file.hpp"
#include "analyzer/cli/prove/tree_copy.hpp"
#include "analyzer/cli/run/trial.hpp"
#include "analyzer/reports/comparison/reported.hpp"

#include <optional>
#include <string>

namespace umadvisor::cli {

/// Records one run of `side` with the shim, in traces beside the copy, and returns its reports; nothing where
/// the program fails. `calibrate`: as add_rates() has it. Throws reader::Error where no process left a trace,
/// and as refuse_foreign_code() does.
std::optional<reports::ReportedRuns> record(const TreeCopy& copy, const Side& side, const DiffFile& diff,
                                            const std::string& shim, bool calibrate);

} // namespace umadvisor::cli
