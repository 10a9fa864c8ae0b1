/// `umadvisor report` of a job of several ranks.
#pragma once

#include "analyzer/cli/command.hpp"
#include "analyzer/text/terminal_text.hpp"

namespace umadvisor::cli {

/// Where one of the files that were named holds summaries. The whole job is shown: options that choose
/// findings, lines or ranges, and formats but the text, JSON and the page, are of one trace. Returns the exit
/// status. May throw reader::Error.
int report_job(const Arguments& arguments, const text::Terminal& shown_on);

} // namespace umadvisor::cli
