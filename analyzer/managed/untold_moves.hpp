/// Whose memory moved where the driver's totals have more than its events told.
#pragma once

#include "analyzer/managed/managed_site.hpp"

#include <cstdint>
#include <vector>

namespace umadvisor::managed {

/// Of a sum, what one may have of it.
struct Claim {
    double least = 0, most = 0; ///< bytes
    double weight = 0;          ///< among those with room
};

/// Shares `whole` by weight within the bounds. What is then left goes to nobody, but where it fills nearly all
/// the room that is left: by room.
std::vector<double> share(double whole, const std::vector<Claim>& claims);

/// Shares the totals among the allocating lines, sets their `extrapolated`, and returns what nobody got.
///
/// Memory goes to the device and comes back in turn: what went is what came back, but for what lies there at
/// the end, or was made there. How often it came back the host's faults say, where all of them were told: a
/// sample of the moves says it worse. Where events name an allocation, the shares are no less than these.
MovedBytes share_untold(const std::vector<ManagedSiteActivity*>& sites, const ManagedTotals& totals);

} // namespace umadvisor::managed
