/// Findings are told at lines of the program, not at those of libraries that it called.
#pragma once

#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/python/python_advice.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace umadvisor::advice {

/// Where the host touched managed memory is known without what called that code: a memcpy of the C library is
/// at fault for nobody. A line of the program that took part takes its place as the finding's own, first of
/// `places`, then the allocation's. `is_own`: whether a stack's line is the program's.
void prefer_own_lines(std::vector<rules::Finding>& findings,
                      const std::function<bool(std::uint64_t stack)>& is_own);

/// What threads of a framework do, they do for a line of Python: the one at which the program was meanwhile. It
/// takes the place of the finding's own where that lies in a library, with the confidence that this has.
void prefer_python_lines(std::vector<rules::Finding>& findings, const rules::Profile& profile,
                         const rules::LineOf& line_of, const std::function<bool(std::uint64_t stack)>& is_own,
                         const rules::FrameworkOf& framework_of);

} // namespace umadvisor::advice
