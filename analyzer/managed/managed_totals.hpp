/// How much moved and faulted in a run: the driver's own totals, and the events that were recorded.
#pragma once

#include "analyzer/managed/managed_tally.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace umadvisor::managed {

/// In ticks.
struct TimeSpan {
    std::uint64_t begin = 0, end = 0; ///< UINT64_MAX: to the end of the trace
};

/// Follows the records in the order of time. Memory: some thousand spans of time.
class ManagedTotals {
public:
    void add(const trace::ManagedCounters& record);
    void add(const trace::ManagedDetail& record);
    void add(const trace::ManagedEvent& event);
    /// Managed memory is used from here on: something may move.
    void use() { used_ = true; }

    /// By the driver's totals; where there are none, by the events.
    MovedBytes moved() const;
    /// The same; nothing where such faults are never recorded.
    std::optional<std::uint64_t> host_faults() const;
    std::optional<std::uint64_t> device_faults() const;
    /// Of the run's faults, those for which the events of `part` stand. The driver reports a device's fault
    /// once for each multiprocessor that asked for the page, but counts it once. Nothing where no event says
    /// whose they are.
    std::optional<std::uint64_t> host_faults(const ManagedTally& part) const;
    std::optional<std::uint64_t> device_faults(const ManagedTally& part) const;
    /// Faults of devices in the run for each that was recorded.
    double device_faults_each() const;
    /// Bytes that moved between devices, of which `recorded` is a part, at the least: the driver has no total
    /// of them. By its total of faults, which are reported no less often than they are counted. Of the moves
    /// only those count that were recorded at times when faults were, too.
    std::uint64_t between_devices(std::uint64_t recorded) const;
    /// Whether that is more than what was recorded in all.
    bool between_devices_is_estimated() const {
        return between_devices(recorded_.between_devices) > recorded_.between_devices;
    }

    bool records(trace::ManagedEventKind kind) const { return (kinds_ >> bit(kind) & 1) != 0; }
    bool ever_recorded(trace::ManagedEventKind kind) const { return (ever_ >> bit(kind) & 1) != 0; }
    /// Whether `count` is a count of the events of a kind: where none was ever reported, 0 means unknown.
    bool counts(trace::ManagedEventKind kind, std::uint64_t count) const {
        return count != 0 || ever_recorded(kind);
    }
    const ManagedTally& recorded() const { return recorded_; }
    /// The driver's totals; nullptr: none are in the trace.
    const trace::ManagedCounters* exact() const { return counted_ ? &exact_ : nullptr; }
    /// Times without a source of totals, the first of them: what moved then is in no total.
    const std::vector<TimeSpan>& uncounted() const { return uncounted_; }
    std::uint64_t lost() const { return lost_; }

    /// Of the bytes that moved, those for which there are events; 1 where nothing moved.
    double recorded_share() const;
    bool all_recorded() const;

private:
    static constexpr unsigned bit(trace::ManagedEventKind kind) { return static_cast<unsigned>(kind) & 63; }
    std::optional<std::uint64_t> part_of(std::uint64_t part, std::uint64_t all, std::uint64_t counted,
                                         trace::ManagedEventKind kind) const;

    ManagedTally recorded_;
    trace::ManagedCounters exact_;
    std::uint64_t kinds_ = 0, ever_ = 0, lost_ = 0;
    bool counted_ = false;
    std::vector<TimeSpan> uncounted_;
    std::deque<TimeSpan> fault_times_;        ///< in which faults of devices were recorded; the last ones
    std::uint64_t between_beside_faults_ = 0; ///< bytes between devices that were recorded in these
    bool partly_off_ = true;                  ///< at some time since the last counters moves were not recorded
    bool gap_ = false;                        ///< bytes moved while moves were not recorded
    bool used_ = false;                       ///< since the last counters
    MovedBytes recorded_before_;              ///< at the last counters
};

} // namespace umadvisor::managed
