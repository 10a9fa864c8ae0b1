/// How much was told of what moved: the driver's own totals against the events.
#pragma once

#include "analyzer/facts/running_launches.hpp"
#include "analyzer/managed/managed_tally.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

namespace umadvisor::managed {

struct ManagedSiteActivity;

/// How the moved bytes of an allocation are known, from the best to the worst.
enum class MovedBasis : std::uint8_t {
    counted,      ///< every move was told
    stays,        ///< where it was seen, brought to the driver's totals where those are known
    extrapolated, ///< some were told; the others are taken to be alike
    launches,     ///< the totals changed while launches reached this memory alone
    none,         ///< nothing is known to have moved
};
std::string_view name(MovedBasis basis);

struct MovedBytes {
    std::uint64_t to_device = 0, to_host = 0;
};

/// Between two ManagedCounters records: what moved of the only memory that was reached, beyond what events
/// told.
struct UntoldInterval {
    MovedBytes moved;
    ManagedSiteActivity* site = nullptr;
    std::vector<facts::KernelSite> kernels; ///< that reached it; at most a few
};

/// In ticks.
struct TimeSpan {
    std::uint64_t begin = 0, end = 0; ///< UINT64_MAX: to the end of the trace
};

/// Follows the records in the order of time.
class ManagedTotals {
public:
    /// The interval that ends here, where it can be given to one memory.
    std::optional<UntoldInterval> add(const trace::ManagedCounters& record);
    void add(const trace::ManagedDetail& record);
    void add(const trace::ManagedEvent& event);

    /// Memory of `site` is reached by a launch or copy now, or by one that was not waited for.
    void reach(ManagedSiteActivity& site, const facts::KernelSite* kernel = nullptr);
    /// Memory is reached that is not known.
    void reach_any() { several_ = true; }
    /// `moved` is known without events.
    void set_apart(const MovedBytes& moved);
    /// Faults of the device, of which `told` is a part, as the driver counts them: it tells of each
    /// multiprocessor that asked for a page, and counts the page once.
    std::uint64_t device_faults(std::uint64_t told) const;
    /// Bytes that moved between devices, of which `told` is a part, at the least: the driver has no total of
    /// them. By its total of faults, which are told no less often than they are counted.
    /// Of the moves only those count that were told of times in which faults were told, too.
    std::uint64_t between_devices(std::uint64_t told) const;
    /// Whether that is more than what was told in all.
    bool between_devices_is_estimated() const {
        return between_devices(told_.between_devices) > told_.between_devices;
    }

    bool tells(trace::ManagedEventKind kind) const { return (kinds_ >> bit(kind) & 1) != 0; }
    bool ever_told(trace::ManagedEventKind kind) const { return (ever_ >> bit(kind) & 1) != 0; }
    /// Whether `told` is a count of the events of a kind: where none was ever reported, 0 means unknown.
    bool counts(trace::ManagedEventKind kind, std::uint64_t told) const { return told != 0 || ever_told(kind); }
    const ManagedTally& told() const { return told_; }
    /// The driver's totals; nullptr: none are in the trace.
    const trace::ManagedCounters* exact() const { return counted_ ? &exact_ : nullptr; }
    /// Nobody was asked at these times, the first of them: what moved then is in no total.
    const std::vector<TimeSpan>& uncounted() const { return uncounted_; }
    std::uint64_t lost() const { return lost_; }

    /// Of the bytes that moved, those of which events told; 1 where nothing moved.
    double told_share() const;
    bool all_told() const;
    /// Some of what moved was neither told nor set apart.
    bool shares_out() const;
    /// The driver's totals less what was set apart.
    MovedBytes to_share_out() const;

private:
    static constexpr unsigned bit(trace::ManagedEventKind kind) { return static_cast<unsigned>(kind) & 63; }
    MovedBytes told_bytes() const { return {sum_of(told_.to_device), sum_of(told_.to_host)}; }

    ManagedTally told_;
    trace::ManagedCounters exact_;
    MovedBytes apart_;
    std::uint64_t kinds_ = 0, ever_ = 0, lost_ = 0;
    bool counted_ = false;
    std::vector<TimeSpan> uncounted_;
    std::deque<TimeSpan> fault_times_;        ///< in which faults of devices were told; the last ones
    std::uint64_t between_beside_faults_ = 0; ///< bytes between devices that were told of these
    bool partly_off_ = true;                  ///< migrations were not told at some time since the last counters
    bool gap_ = false;                        ///< bytes moved while migrations were not told
    MovedBytes told_before_;                  ///< at the last counters
    ManagedSiteActivity* only_ = nullptr;     ///< reached since the last counters
    bool several_ = false;
    std::vector<facts::KernelSite> kernels_;
};

} // namespace umadvisor::managed
