/// Managed memory in the text report.
#pragma once

#include "analyzer/advice/report.hpp"

#include <iosfwd>

namespace umadvisor::reports {

/// A section of its own; empty where the trace has nothing on managed memory.
void write_managed(advice::Report& report, std::ostream& out);

} // namespace umadvisor::reports
