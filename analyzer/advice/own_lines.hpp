/// Findings are reported at lines of the program, not at those of libraries that it called.
#pragma once

#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/python/python_advice.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace umadvisor::advice {

/// The code that touched managed memory on the host is known, but not its callers: it may be the C library's
/// memcpy, which no user can change. A line of the program that took part replaces it as the finding's own:
/// the first of `places`, else the allocation's. `is_own`: whether a stack's line is the program's.
void prefer_own_lines(std::vector<rules::Finding>& findings,
                      const std::function<bool(ids::StackId stack)>& is_own);

/// Work of a framework's threads is charged to the Python line that ran meanwhile. That line replaces the
/// finding's own where the latter lies in a library, and limits the finding's confidence.
void prefer_python_lines(std::vector<rules::Finding>& findings, const rules::Profile& profile,
                         const rules::LineOf& line_of, const std::function<bool(ids::StackId stack)>& is_own,
                         const rules::FrameworkOf& framework_of);

} // namespace umadvisor::advice
