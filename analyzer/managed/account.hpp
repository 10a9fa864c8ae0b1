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
/// Where every move was recorded, the records are added up. Else what the driver's totals grew by is shared
/// among the memory that can have moved. Where there are no totals, either, what was seen of it counts.
class Account {
public:
    Account(const ManagedTotals& totals, const MoveLedger& ledger);

    /// Of a line: bytes between host and device.
    MovedBytes moved(const ManagedSiteActivity& site) const;
    MovedBasis basis(const ManagedSiteActivity& site) const;
    /// Bytes between devices, at the least.
    std::uint64_t between_devices(const ManagedSiteActivity& site) const;
    /// Nothing: it is not known which of the run's faults were on this memory.
    std::optional<std::uint64_t> host_faults(const ManagedSiteActivity& site) const {
        return totals_.host_faults(site.recorded);
    }
    std::optional<std::uint64_t> device_faults(const ManagedSiteActivity& site) const {
        return totals_.device_faults(site.recorded);
    }

    /// Of the run.
    const ManagedTotals& run() const { return totals_; }
    /// What moved in the run, and it is not known of which memory.
    MovedBytes unassigned() const;

private:
    enum class Source : std::uint8_t { records, shares, least_shares, stays };

    const ManagedTotals& totals_;
    const MoveLedger& ledger_;
    Source source_ = Source::records;
};

} // namespace umadvisor::managed
