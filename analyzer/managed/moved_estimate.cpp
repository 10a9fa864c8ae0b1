#include "analyzer/managed/moved_estimate.hpp"

#include <algorithm>

namespace umadvisor::managed {
namespace {

bool any(const MovedBytes& moved) {
    return moved.to_device != 0 || moved.to_host != 0;
}

bool equal(const MovedBytes& one, const MovedBytes& other) {
    return one.to_device == other.to_device && one.to_host == other.to_host;
}

MovedBytes sum(const MovedBytes& one, const MovedBytes& other) {
    return {reader::saturated_sum(one.to_device, other.to_device),
            reader::saturated_sum(one.to_host, other.to_host)};
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

/// What is shared interval by interval is known best, if it leaves little over. Else, where the stays add up to
/// what the driver counted, they tell better whose moves were not told than a sample of the moves does.
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
    return sum(totals_.shares_out() ? site.extrapolated : told_of(site), site.by_launches);
}

MovedBasis MovedEstimate::basis(const ManagedSiteActivity& site) const {
    const MovedBytes told = told_of(site);
    if (ledger_tells_)
        return !any(site.by_intervals) ? MovedBasis::none
               : any(site.by_launches) && equal(site.by_intervals, sum(told, site.by_launches))
                   ? MovedBasis::launches
                   : MovedBasis::stays;
    if (stays_tell_)
        return any(site.by_stays) ? MovedBasis::stays : MovedBasis::none;
    if (any(told) && totals_.all_told())
        return MovedBasis::counted;
    if (totals_.shares_out() && !equal(site.extrapolated, told))
        return MovedBasis::extrapolated;
    return any(site.by_launches) ? MovedBasis::launches : MovedBasis::none;
}

MovedBytes MovedEstimate::untold() const {
    if (ledger_tells_)
        return ledger_.untold();
    return stays_tell_ ? MovedBytes{} : untold_;
}

} // namespace umadvisor::managed
