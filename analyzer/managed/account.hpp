/// The account of managed memory: how much moved and how often it faulted, in the run and by allocating line.
#pragma once

#include "analyzer/managed/managed_site.hpp"
#include "analyzer/managed/move_ledger.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace umadvisor::managed {

/// How the moved bytes of an allocating line are known, from the best to the worst.
enum class MovedBasis : std::uint8_t {
    counted,  ///< every move was recorded
    stays,    ///< where it was seen, or shares of what the driver's totals grew by
    at_least, ///< such shares, as far as no other memory can have moved instead
    launches, ///< the totals grew while nothing else was used
    none,     ///< nothing is known to have moved
};
std::string_view name(MovedBasis basis);

/// All outputs take their figures of managed memory from here. `totals` and `ledger` must outlive it.
///
/// If every move was recorded, the account adds up the records. Otherwise it shares the growth of the driver's
/// totals among the memory that can have moved. Without totals, it counts the moves that looks and faults show.
class Account {
public:
    Account(const ManagedTotals& totals, const MoveLedger& ledger);

    /// The bytes that moved between host and device, of the memory that this line allocates.
    MovedBytes moved(const ManagedSiteActivity& site) const;
    MovedBasis basis(const ManagedSiteActivity& site) const;
    /// Bytes between devices, at the least.
    std::uint64_t between_devices(const ManagedSiteActivity& site) const;
    /// Returns nothing if no event shows which of the run's faults were on this memory.
    std::optional<std::uint64_t> host_faults(const ManagedSiteActivity& site) const {
        return totals_.host_faults(site.recorded);
    }
    std::optional<std::uint64_t> device_faults(const ManagedSiteActivity& site) const {
        return totals_.device_faults(site.recorded);
    }

    /// The totals of the whole run.
    const ManagedTotals& run() const { return totals_; }
    /// The bytes that moved in the run and that belong to no known line.
    MovedBytes unassigned() const;

private:
    enum class Source : std::uint8_t { records, shares, least_shares, stays };

    const ManagedTotals& totals_;
    const MoveLedger& ledger_;
    Source source_ = Source::records;
};

} // namespace umadvisor::managed
