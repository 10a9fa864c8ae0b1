#include "analyzer/rules/first_launches.hpp"

#include "analyzer/reader/saturated.hpp"

#include <set>

namespace umadvisor::rules {

std::optional<double> FirstLaunches::later_ns(const Profile& profile, const tables::LaunchGroup& group) const {
    const tables::LaunchTotals* const all = profile.launches().find(group);
    const auto firsts = times.find(group);
    if (all == nullptr || firsts == times.end() || all->measured <= firsts->second.count ||
        all->measured_ns < firsts->second.ns)
        return std::nullopt;
    return static_cast<double>(all->measured_ns - firsts->second.ns) /
           static_cast<double>(all->measured - firsts->second.count);
}

FirstLaunches first_launches_of(const Profile& profile) {
    FirstLaunches firsts;
    std::set<std::uint64_t> counted;
    const auto count = [&](const tables::FirstLaunch& launch) {
        const std::uint64_t ns = profile.allocations().first_launch(launch.sample).ns;
        if (!counted.insert(launch.sample).second || ns == 0)
            return; // of a launch that touched several first, the time counts once
        FirstLaunches::Times& times = firsts.times[launch.group];
        ++times.count;
        reader::add_saturated(times.ns, ns);
    };
    for (const auto& [site, totals] : profile.allocations().sites()) {
        for (const tables::FirstLaunch& launch : totals.first_launches)
            count(launch);
        for (const tables::PopulatingLaunch& each : totals.populating)
            count(each.launch);
    }
    return firsts;
}

double share_of(const Profile& profile, const tables::FirstLaunch& launch) {
    return static_cast<double>(launch.bytes) /
           static_cast<double>(profile.allocations().first_launch(launch.sample).bytes);
}

} // namespace umadvisor::rules
