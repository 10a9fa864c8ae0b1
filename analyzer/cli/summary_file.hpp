/// Summaries of ranks: where they lie, and how they are made.
#pragma once

#include "analyzer/advice/report.hpp"
#include "analyzer/ranks/job_file.hpp"
#include "analyzer/symbols/options.hpp"

#include <string>

namespace umadvisor::cli {

/// Of a trace: with the suffix .umsum in place of .umtrace, or behind any other.
std::string summary_name(const std::string& trace);

/// Writes it beside the trace that the report was made from, in place of an earlier summary. Throws
/// reader::Error, also where a file of another kind has its name.
void write_summary(advice::Report& report, const std::string& trace);

/// A file of summaries, or a trace, whose summary is made here. Throws reader::Error.
void add_part(const std::string& path, const symbols::Options& options, ranks::Merged& job);

} // namespace umadvisor::cli
