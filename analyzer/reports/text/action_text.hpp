/// The section "What umadvisor did" of reports for people; nothing where it did nothing and was refused
/// nothing.
#pragma once

#include "analyzer/reports/action_lines.hpp"

#include <iosfwd>
#include <string>

namespace umadvisor::reports {

void write_actions(advice::Report& report, std::ostream& out);

/// "3 calls, 96 MiB, 61 us in calls; 2 MiB of it for nothing; saved about 3.9 ms"
std::string action_text(const advice::Report& report, const tables::ActionTotals& totals,
                        const WastedBytes& wasted, const std::optional<double>& gain_ns);

/// Those worth naming: the ones that gained most, and the ones that lost most. The latter come last.
std::vector<const ActionPlace*> known_places(const ActionLine& line);

} // namespace umadvisor::reports
