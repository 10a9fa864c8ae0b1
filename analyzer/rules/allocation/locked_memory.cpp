#include "analyzer/rules/allocation/locked_memory.hpp"

namespace umadvisor::rules {

std::map<std::pair<ids::StackId, std::uint64_t>, LockedLine> locked_lines(const Profile& profile,
                                                                          const LineOf& line_of) {
    const auto& flights = profile.counted<LockedFlights>();
    std::map<std::pair<ids::StackId, std::uint64_t>, LockedLine> lines;
    for (const auto& [site, totals] : profile.lifetimes().sites()) {
        if (totals.locked.count == 0 || site.stack.outside())
            continue;
        LockedLine& line = lines[{line_of(site.stack), site.entry}];
        line.memory = site.memory;
        line.locked += totals.locked;
    }
    if (flights.unknown())
        return lines;
    for (auto& [key, line] : lines)
        line.flights.emplace();
    for (const auto& [site, totals] : flights.sites())
        if (const auto line = lines.find({line_of(site.stack), site.entry}); line != lines.end())
            *line->second.flights += totals;
    return lines;
}

LockLimits lock_limits(const Profile& profile) {
    const auto limit = [&](std::uint64_t trace::Process::*which) -> std::optional<std::uint64_t> {
        for (const trace::Process& process : profile.dictionary().processes)
            if (process.*which != 0)
                return process.*which - 1;
        return std::nullopt;
    };
    return {limit(&trace::Process::lock_limit), limit(&trace::Process::memory_limit)};
}

} // namespace umadvisor::rules
