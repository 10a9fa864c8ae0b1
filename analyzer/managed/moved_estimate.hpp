/// How many bytes the memory of an allocating line moved, and how well that is known.
#pragma once

#include "analyzer/managed/managed_site.hpp"
#include "analyzer/managed/move_ledger.hpp"

namespace umadvisor::managed {

/// `totals` and `ledger` must outlive it; `by_stays` is the sum over all lines, `untold` what share_untold()
/// left to nobody.
class MovedEstimate {
public:
    MovedEstimate(const ManagedTotals& totals, const MovedBytes& by_stays, const MovedBytes& untold,
                  const MoveLedger& ledger);

    MovedBytes moved(const ManagedSiteActivity& site) const;
    MovedBasis basis(const ManagedSiteActivity& site) const;
    /// What the driver's totals have and nothing tells apart.
    MovedBytes untold() const;

private:
    const ManagedTotals& totals_;
    MovedBytes by_stays_, untold_, whole_; ///< whole: what stays are brought to
    const MoveLedger& ledger_;
    bool ledger_tells_, stays_tell_;
};

} // namespace umadvisor::managed
