/// What is missing from a trace, in words.
#pragma once

#include "analyzer/reader/trace.hpp"

#include <string>
#include <vector>

namespace umadvisor::reports {

/// "trace complete", "trace cut: ...": for the first line of a report.
std::string completeness_summary(const reader::Trace& trace);

/// One sentence for each kind of loss, and for each interpreter whose Python frames are not there; drops first.
/// Empty when nothing is missing. Right only after the events were read.
std::vector<std::string> completeness_lines(const reader::Trace& trace);

/// "disk_full" and so on.
std::string_view name(trace::DropReason reason);

} // namespace umadvisor::reports
