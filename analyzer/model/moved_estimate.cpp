#include "analyzer/model/moved_estimate.hpp"

#include <algorithm>

namespace umadvisor::model {
namespace {

bool any(const MovedBytes& moved) {
    return moved.to_device != 0 || moved.to_host != 0;
}

/// But for a quarter: host and device that use memory at the same time make no stays.
bool alike(std::uint64_t seen, std::uint64_t counted) {
    return std::max(seen, counted) - std::min(seen, counted) <= counted / 4;
}

std::uint64_t scaled(std::uint64_t part, std::uint64_t all, std::uint64_t whole) {
    return all == 0 ? 0
                    : reader::saturated(static_cast<double>(part) *
                                        (static_cast<double>(whole) / static_cast<double>(all)));
}

MovedBytes told_of(const ManagedSiteActivity& site) {
    return {sum_of(site.told.to_device), sum_of(site.told.to_host)};
}

} // namespace

/// Where the stays add up to what the driver counted, they tell better whose moves were not told than a sample
/// of the moves does.
MovedEstimate::MovedEstimate(const ManagedTotals& totals, const MovedBytes& by_stays, const MovedBytes& untold,
                             const MoveLedger& ledger)
    : totals_(totals), by_stays_(by_stays), untold_(untold), whole_(by_stays), ledger_(ledger) {
    const trace::ManagedCounters* const exact = totals.exact();
    if (exact != nullptr)
        whole_ = {exact->bytes_to_device, exact->bytes_to_host};
    ledger_tells_ = exact != nullptr && !totals.all_told() && ledger.closes();
    stays_tell_ = exact == nullptr ? totals.told().events == 0
                                   : totals.shares_out() && alike(by_stays_.to_device, whole_.to_device) &&
                                         alike(by_stays_.to_host, whole_.to_host);
}

MovedBytes MovedEstimate::moved(const ManagedSiteActivity& site) const {
    if (ledger_tells_)
        return site.by_intervals;
    if (stays_tell_)
        return {scaled(site.by_stays.to_device, by_stays_.to_device, whole_.to_device),
                scaled(site.by_stays.to_host, by_stays_.to_host, whole_.to_host)};
    const MovedBytes told = totals_.shares_out() ? site.extrapolated : told_of(site);
    return {reader::saturated_sum(told.to_device, site.by_launches.to_device),
            reader::saturated_sum(told.to_host, site.by_launches.to_host)};
}

MovedBasis MovedEstimate::basis(const ManagedSiteActivity& site) const {
    if (ledger_tells_)
        return any(site.by_intervals) ? MovedBasis::stays : MovedBasis::none;
    if (stays_tell_)
        return any(site.by_stays) ? MovedBasis::stays : MovedBasis::none;
    const MovedBytes told = told_of(site);
    if (any(told) && totals_.all_told())
        return MovedBasis::counted;
    if (totals_.shares_out() &&
        (site.extrapolated.to_device != told.to_device || site.extrapolated.to_host != told.to_host))
        return MovedBasis::extrapolated;
    return any(site.by_launches) ? MovedBasis::launches : MovedBasis::none;
}

MovedBytes MovedEstimate::untold() const {
    if (ledger_tells_)
        return ledger_.untold();
    return stays_tell_ ? MovedBytes{} : untold_;
}

} // namespace umadvisor::model
