#include "analyzer/managed/managed_totals.hpp"

#include <algorithm>
#include <utility>

namespace umadvisor::managed {
namespace {

constexpr std::size_t most_uncounted = 1024, most_fault_times = 64;

/// Totals only grow; records of several threads may come in the wrong order.
std::uint64_t grow(std::uint64_t& total, std::uint64_t now) {
    const std::uint64_t before = std::exchange(total, std::max(total, now));
    return total - before;
}

} // namespace

void ManagedTotals::add(const trace::ManagedCounters& record) {
    const MovedBytes moved{grow(exact_.bytes_to_device, record.bytes_to_device),
                           grow(exact_.bytes_to_host, record.bytes_to_host)};
    grow(exact_.host_faults, record.host_faults);
    grow(exact_.device_faults, record.device_faults);
    const MovedBytes recorded = moved_of(recorded_);
    gap_ = gap_ || (partly_off_ && (moved.to_device > recorded.to_device - recorded_before_.to_device ||
                                    moved.to_host > recorded.to_host - recorded_before_.to_host));
    recorded_before_ = recorded;
    counted_ = true;
    partly_off_ = !records(trace::ManagedEventKind::migration);
    used_ = false;
}

void ManagedTotals::add(const trace::ManagedDetail& record) {
    kinds_ = record.kinds;
    if (!used_) // since the totals were read, so nothing moved
        partly_off_ = false;
    ever_ |= record.kinds;
    if (record.kinds != 0 && !uncounted_.empty() && uncounted_.back().end == UINT64_MAX)
        uncounted_.back().end = record.start;
    if (record.kinds == 0 && uncounted_.size() < most_uncounted)
        uncounted_.push_back({record.start, UINT64_MAX});
    const bool faults = records(trace::ManagedEventKind::device_fault);
    const bool open = !fault_times_.empty() && fault_times_.back().end == UINT64_MAX;
    if (open && !faults)
        fault_times_.back().end = record.start;
    if (!open && faults)
        fault_times_.push_back({record.start, UINT64_MAX});
    if (fault_times_.size() > most_fault_times)
        fault_times_.pop_front();
    reader::add_saturated(lost_, record.lost);
    partly_off_ = partly_off_ || !records(trace::ManagedEventKind::migration);
}

MovedBytes ManagedTotals::moved() const {
    return counted_ ? MovedBytes{exact_.bytes_to_device, exact_.bytes_to_host} : moved_of(recorded_);
}

std::optional<std::uint64_t> ManagedTotals::host_faults() const {
    return counted_ ? exact_.host_faults : host_faults(recorded_);
}

std::optional<std::uint64_t> ManagedTotals::device_faults() const {
    return counted_ ? exact_.device_faults : device_faults(recorded_);
}

std::optional<std::uint64_t> ManagedTotals::part_of(std::uint64_t part, std::uint64_t all,
                                                    std::uint64_t counted, trace::ManagedEventKind kind) const {
    if (counted_ && all != 0)
        return reader::saturated(static_cast<double>(part) *
                                 (static_cast<double>(counted) / static_cast<double>(all)));
    if (counted_ && counted != 0)
        return std::nullopt;
    return counts(kind, part) ? std::optional(part) : std::nullopt;
}

std::optional<std::uint64_t> ManagedTotals::host_faults(const ManagedTally& part) const {
    return part_of(sum_of(part.host_faults), sum_of(recorded_.host_faults), exact_.host_faults,
                   trace::ManagedEventKind::host_fault);
}

std::optional<std::uint64_t> ManagedTotals::device_faults(const ManagedTally& part) const {
    return part_of(sum_of(part.device_faults), sum_of(recorded_.device_faults), exact_.device_faults,
                   trace::ManagedEventKind::device_fault);
}

double ManagedTotals::device_faults_each() const {
    const std::uint64_t all = sum_of(recorded_.device_faults);
    return counted_ && all != 0 ? static_cast<double>(exact_.device_faults) / static_cast<double>(all) : 1;
}

void ManagedTotals::add(const trace::ManagedEvent& event) {
    recorded_.add(event);
    if (event.kind != trace::ManagedEventKind::migration ||
        direction_of(event) != MoveDirection::between_devices)
        return;
    const bool beside = std::ranges::any_of(fault_times_, [&event](const TimeSpan& time) {
        return time.begin <= event.start && event.start <= time.end;
    });
    if (beside)
        reader::add_saturated(between_beside_faults_, event.bytes);
}

std::uint64_t ManagedTotals::between_devices(std::uint64_t recorded) const {
    if (recorded_.between_devices == 0)
        return recorded;
    const double by_faults = static_cast<double>(between_beside_faults_) * device_faults_each();
    const double scale = by_faults / static_cast<double>(recorded_.between_devices);
    return scale > 1 ? reader::saturated(static_cast<double>(recorded) * scale) : recorded;
}

double ManagedTotals::recorded_share() const {
    const MovedBytes recorded = moved_of(recorded_);
    const double part = static_cast<double>(recorded.to_device) + static_cast<double>(recorded.to_host);
    const double whole =
        static_cast<double>(exact_.bytes_to_device) + static_cast<double>(exact_.bytes_to_host);
    return whole > part ? part / whole : 1;
}

bool ManagedTotals::all_recorded() const {
    const MovedBytes recorded = moved_of(recorded_);
    return (!gap_ && lost_ == 0) ||
           (recorded.to_device >= exact_.bytes_to_device && recorded.to_host >= exact_.bytes_to_host);
}

} // namespace umadvisor::managed
