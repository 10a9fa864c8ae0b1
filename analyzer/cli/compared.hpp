/// Files that are compared: traces and reports.
#pragma once

#include "analyzer/reports/comparison/reported.hpp"
#include "analyzer/symbols/options.hpp"

#include <string>

namespace umadvisor::cli {

/// Adds the report of `path`: a file that begins with { or [ is one as JSON, anything else a trace. Throws
/// Error where it is neither. Writes one line to stderr if records are missing from it.
void add_compared(reports::ReportedRuns& runs, const std::string& path, const symbols::Options& options);

} // namespace umadvisor::cli
