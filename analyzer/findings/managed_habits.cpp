#include "analyzer/findings/managed_habits.hpp"

#include "analyzer/findings/words.hpp"

namespace umadvisor::findings {

Habits habits_by_line(const model::Profile& profile, const LineOf& line_of,
                      model::ManagedHabit model::AllocationTotals::*habit) {
    Habits habits;
    for (const auto& [site, totals] : profile.allocations().sites()) {
        if ((totals.*habit).allocations == 0)
            continue;
        model::AllocationSite line = site;
        line.stack = line_of(site.stack);
        habits[line].add(totals.*habit);
    }
    return habits;
}

std::string allocation_text(const model::Profile& profile, const model::AllocationSite& site,
                            const model::ManagedHabit& habit) {
    if (site.symbol != 0)
        return "variable " + std::string(profile.dictionary().string(site.symbol));
    const double mean = static_cast<double>(habit.bytes) / static_cast<double>(habit.allocations);
    return profile.call_name(site.entry) + " " + bytes_text(mean) +
           (habit.allocations > 1 ? " x " + std::to_string(habit.allocations) : "");
}

} // namespace umadvisor::findings
