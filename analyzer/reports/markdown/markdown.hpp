/// Advice for a page that shows Markdown: a code review, an issue, a wiki.
#pragma once

#include "analyzer/advice/report.hpp"

#include <iosfwd>

namespace umadvisor::reports {

/// GitHub's dialect: a table of the findings, then a section for each.
void write_markdown(advice::Report& report, std::ostream& out);

} // namespace umadvisor::reports
