/// What first launches on managed memory take beyond later ones of the same kernel and shape.
#pragma once

#include "analyzer/rules/profile.hpp"

#include <cstdint>
#include <map>
#include <optional>

namespace umadvisor::rules {

/// First launches on managed memory that was on the host, or that nothing had used, of all lines.
struct FirstLaunches {
    struct Times {
        std::uint64_t count = 0, ns = 0;
    };
    std::map<tables::LaunchGroup, Times> times; ///< of those whose device time is known

    /// Mean device time of a group's launches that are first on no memory. Nothing: none was measured.
    std::optional<double> later_ns(const Profile& profile, const tables::LaunchGroup& group) const;
};

FirstLaunches first_launches_of(const Profile& profile);

/// Of what a first launch takes for all memory that it is the first on, by bytes. Its bytes are not 0.
double share_of(const Profile& profile, const tables::FirstLaunch& launch);

} // namespace umadvisor::rules
