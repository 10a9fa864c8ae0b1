/// How much of a kernel's time goes into reaching page-locked memory across the link.
#pragma once

#include "analyzer/rules/profile.hpp"
#include "analyzer/rules/transfers/remote_uses.hpp"

#include <cstdint>
#include <optional>

namespace umadvisor::rules {

/// Of one launch or memory set, nanoseconds on the device.
struct LinkTime {
    double each_ns = 0;
    double spared_ns = 0;   ///< that it would not take if the memory were the device's
    bool scattered = false; ///< it takes as long as single words here and there need
    bool measured = false;
};

/// `reach`: sums over such work. Nothing: it was not measured, or its time does not say that the link decides
/// it. A kernel that is done sooner does not use all of that memory; one that takes far longer computes.
std::optional<LinkTime> link_time(const Profile& profile, const RemoteWork& work,
                                  const tables::LaunchTotals& launches, const RemoteReach& reach);

} // namespace umadvisor::rules
