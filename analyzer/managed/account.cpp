#include "analyzer/managed/account.hpp"

#include <algorithm>
#include <array>

namespace umadvisor::managed {

std::string_view name(MovedBasis basis) {
    constexpr std::array<std::string_view, 5> names{"counted", "stays", "at_least", "launches", "none"};
    return names[static_cast<std::size_t>(basis)];
}

Account::Account(const ManagedTotals& totals, const MoveLedger& ledger) : totals_(totals), ledger_(ledger) {
    if (totals.exact() == nullptr && totals.recorded().events == 0)
        source_ = Source::stays;
    else if (totals.exact() != nullptr && !totals.all_recorded())
        source_ = ledger.closes() ? Source::shares : Source::least_shares;
}

MovedBytes Account::moved(const ManagedSiteActivity& site) const {
    switch (source_) {
    case Source::stays:
        return site.seen;
    case Source::shares:
        return site.shares.all;
    case Source::least_shares: { // what was recorded too late to be shared is certain, too
        const MovedBytes recorded = moved_of(site.recorded), &least = site.shares.least;
        return {std::max(recorded.to_device, least.to_device), std::max(recorded.to_host, least.to_host)};
    }
    case Source::records:
        break;
    }
    return moved_of(site.recorded);
}

MovedBasis Account::basis(const ManagedSiteActivity& site) const {
    const MovedBytes bytes = moved(site);
    if (!bytes.any())
        return MovedBasis::none;
    if (source_ == Source::records)
        return totals_.all_recorded() ? MovedBasis::counted : MovedBasis::at_least;
    MovedBytes alone = moved_of(site.recorded);
    alone.add(site.shares.alone);
    if (source_ != Source::stays && site.shares.alone.any() && bytes == alone)
        return MovedBasis::launches;
    return source_ == Source::least_shares ? MovedBasis::at_least : MovedBasis::stays;
}

std::uint64_t Account::between_devices(const ManagedSiteActivity& site) const {
    return totals_.between_devices(site.recorded.between_devices);
}

MovedBytes Account::unassigned() const {
    switch (source_) {
    case Source::shares:
        return ledger_.unassigned();
    case Source::least_shares: {
        MovedBytes bytes = ledger_.unassigned();
        bytes.add(ledger_.guessed());
        return bytes;
    }
    default:
        return {};
    }
}

} // namespace umadvisor::managed
