#include "interposer/control/sample.hpp"

namespace umadvisor::control {

using record::CopyWay;
using record::Totals;

namespace {

std::uint64_t pageable_bytes(const Totals& totals) {
    std::uint64_t sum = 0;
    for (const Totals::Copies& each : totals.copies)
        sum += each.pageable_bytes;
    return sum;
}

std::uint64_t bytes_of(const Totals& totals, CopyWay way) {
    return totals.copies[static_cast<std::size_t>(way)].bytes;
}

/// What a rate counts.
std::uint64_t total_of(Metric metric, const Totals& totals) {
    switch (metric) {
    case Metric::faults:
        return totals.device_faults + totals.host_faults;
    case Metric::moved:
        return totals.managed_bytes_to_device + totals.managed_bytes_to_host;
    case Metric::thrashing:
        return totals.thrashing;
    case Metric::host_to_device:
        return bytes_of(totals, CopyWay::host_to_device);
    case Metric::device_to_host:
        return bytes_of(totals, CopyWay::device_to_host);
    case Metric::pageable:
        return pageable_bytes(totals);
    case Metric::waits:
        return totals.wait_ns;
    case Metric::launches:
        return totals.launches + totals.graph_launches;
    default:
        return totals.refused;
    }
}

} // namespace

double value_of(Metric metric, const Sample& before, const Sample& now) noexcept {
    switch (metric) {
    case Metric::device_bytes:
        return static_cast<double>(now.device_bytes);
    case Metric::managed_bytes:
        return static_cast<double>(now.managed_bytes);
    case Metric::pinned_bytes:
        return static_cast<double>(now.pinned_bytes);
    case Metric::step:
        return 0;
    default:
        break;
    }
    const std::uint64_t first = total_of(metric, before.totals), last = total_of(metric, now.totals);
    const double grown = last > first ? static_cast<double>(last - first) : 0.0;
    if (metric == Metric::refused)
        return grown;
    const double span = now.time_ns > before.time_ns ? static_cast<double>(now.time_ns - before.time_ns) : 1e9;
    return metric == Metric::waits ? grown / span : grown * 1e9 / span;
}

} // namespace umadvisor::control
