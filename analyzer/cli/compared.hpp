/// Files that are compared: traces and reports.
#pragma once

#include "analyzer/advice/report.hpp"
#include "analyzer/reports/comparison/reported.hpp"
#include "analyzer/symbols/options.hpp"

#include <functional>
#include <string>

namespace umadvisor::cli {

/// What else is made of a trace whose report is compared.
struct BesideReport {
    std::function<std::function<void()>(advice::Report&)> begin; ///< as advice::Report takes it
    std::function<void(advice::Report&)> end;                    ///< once the report is made
};

/// Adds the report of `path`: a file that begins with { or [ is one as JSON, anything else a trace. Throws
/// Error where it is neither. Writes one line to stderr if records are missing from it.
void add_compared(reports::ReportedRuns& runs, const std::string& path, const symbols::Options& options,
                  const BesideReport& beside = {});

} // namespace umadvisor::cli
