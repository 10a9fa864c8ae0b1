/// Page-locked memory in reports.
#pragma once

#include "analyzer/advice/report.hpp"
#include "analyzer/rules/allocation/locked_memory.hpp"

#include <iosfwd>
#include <vector>

namespace umadvisor::reports {

struct LockedLine : rules::LockedLine {
    ids::StackId stack{};
    std::uint64_t entry = 0; ///< of the call that locks
};

/// Those that held most at once first.
std::vector<LockedLine> locked_lines(advice::Report& report);

/// A note of the text report; with --all, by line. Nothing where the program locks little.
void write_locked(std::ostream& out, advice::Report& report);

} // namespace umadvisor::reports
