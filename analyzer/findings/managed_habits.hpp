/// What the rules on managed memory have in common.
#pragma once

#include "analyzer/findings/finding.hpp"

#include <map>
#include <string>

namespace umadvisor::findings {

using Habits = std::map<model::AllocationSite, model::ManagedHabit>;

/// One habit of all allocation sites that show it, those of one source line added up.
Habits habits_by_line(const model::Profile& profile, const LineOf& line_of,
                      model::ManagedHabit model::AllocationTotals::*habit);

/// "cudaMallocManaged 32 MiB x 3", "variable NAME".
std::string allocation_text(const model::Profile& profile, const model::AllocationSite& site,
                            const model::ManagedHabit& habit);

/// The line that allocated it. 0 for a variable: the runtime's start-up code asked for it, nobody's line.
inline std::uint64_t allocation_stack(const model::AllocationSite& site) {
    return site.symbol != 0 ? 0 : site.stack;
}

} // namespace umadvisor::findings
