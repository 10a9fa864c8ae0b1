/// What is missing from a trace, in words.
#pragma once

#include "analyzer/reader/trace.hpp"

#include <string>
#include <vector>

namespace umadvisor::reports {

/// "trace complete", "trace cut: ...", and which umadvisor recorded it, where that was another one: for the
/// first line of a report.
std::string completeness_summary(const reader::Trace& trace);

/// One sentence for each kind of record that is not in what was read; drops first. Empty when nothing is
/// missing: so, too, where the program was killed and every record that it committed is there. Right only after
/// the events were read, and so are the next two.
std::vector<std::string> missing_lines(const reader::Trace& trace);

/// Whether records of the program are missing: the file is cut or damaged, or records found no room on the disk
/// or in memory. A size cap that was asked for, and records newer than this umadvisor, do not count.
bool lacks_records(const reader::Trace& trace);

/// One sentence for each kind of loss, and for each interpreter whose Python frames are not there; drops first.
/// Empty when nothing is missing.
std::vector<std::string> completeness_lines(const reader::Trace& trace);

/// "disk_full" and so on.
std::string_view name(trace::DropReason reason);

} // namespace umadvisor::reports
