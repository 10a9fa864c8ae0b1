#include "analyzer/managed/managed_totals.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace umadvisor::managed {
namespace {

constexpr std::size_t most_kernels = 32; ///< named of one interval
constexpr std::size_t most_uncounted = 1024, most_fault_times = 64;

std::uint64_t above(std::uint64_t value, std::uint64_t base) {
    return value - std::min(value, base);
}

/// Totals only grow; records of several threads may come in the wrong order.
std::uint64_t grow(std::uint64_t& total, std::uint64_t now) {
    const std::uint64_t before = std::exchange(total, std::max(total, now));
    return total - before;
}

} // namespace

std::string_view name(MovedBasis basis) {
    constexpr std::array<std::string_view, 5> names{"counted", "stays", "extrapolated", "launches", "none"};
    return names[static_cast<std::size_t>(basis)];
}

std::optional<UntoldInterval> ManagedTotals::add(const trace::ManagedCounters& record) {
    const MovedBytes moved{grow(exact_.bytes_to_device, record.bytes_to_device),
                           grow(exact_.bytes_to_host, record.bytes_to_host)};
    grow(exact_.host_faults, record.host_faults);
    grow(exact_.device_faults, record.device_faults);
    const MovedBytes told = told_bytes();
    const MovedBytes beyond{above(moved.to_device, told.to_device - told_before_.to_device),
                            above(moved.to_host, told.to_host - told_before_.to_host)};
    told_before_ = told;
    std::optional<UntoldInterval> untold;
    if (beyond.to_device != 0 || beyond.to_host != 0) {
        gap_ = gap_ || partly_off_;
        if (!several_ && only_ != nullptr && partly_off_)
            untold = {beyond, only_, std::move(kernels_)};
    }
    counted_ = true;
    partly_off_ = !tells(trace::ManagedEventKind::migration);
    only_ = nullptr;
    several_ = false;
    kernels_.clear();
    return untold;
}

void ManagedTotals::add(const trace::ManagedDetail& record) {
    kinds_ = record.kinds;
    if (only_ == nullptr && !several_) // nothing was reached since the totals were told, so nothing moved
        partly_off_ = false;
    ever_ |= record.kinds;
    if (record.kinds != 0 && !uncounted_.empty() && uncounted_.back().end == UINT64_MAX)
        uncounted_.back().end = record.start;
    if (record.kinds == 0 && uncounted_.size() < most_uncounted)
        uncounted_.push_back({record.start, UINT64_MAX});
    const bool faults = tells(trace::ManagedEventKind::device_fault);
    const bool open = !fault_times_.empty() && fault_times_.back().end == UINT64_MAX;
    if (open && !faults)
        fault_times_.back().end = record.start;
    if (!open && faults)
        fault_times_.push_back({record.start, UINT64_MAX});
    if (fault_times_.size() > most_fault_times)
        fault_times_.pop_front();
    reader::add_saturated(lost_, record.lost);
    partly_off_ = partly_off_ || !tells(trace::ManagedEventKind::migration);
}

void ManagedTotals::reach(ManagedSiteActivity& site, const facts::KernelSite* kernel) {
    several_ = several_ || (only_ != nullptr && only_ != &site);
    only_ = &site;
    if (kernel != nullptr && kernels_.size() < most_kernels &&
        std::ranges::find(kernels_, *kernel) == kernels_.end())
        kernels_.push_back(*kernel);
}

void ManagedTotals::set_apart(const MovedBytes& moved) {
    reader::add_saturated(apart_.to_device, moved.to_device);
    reader::add_saturated(apart_.to_host, moved.to_host);
}

MovedBytes ManagedTotals::to_share_out() const {
    return {above(exact_.bytes_to_device, apart_.to_device), above(exact_.bytes_to_host, apart_.to_host)};
}

std::uint64_t ManagedTotals::device_faults(std::uint64_t told) const {
    const std::uint64_t all = sum_of(told_.device_faults);
    if (!counted_ || all == 0)
        return told;
    return reader::saturated(static_cast<double>(told) *
                             (static_cast<double>(exact_.device_faults) / static_cast<double>(all)));
}

void ManagedTotals::add(const trace::ManagedEvent& event) {
    told_.add(event);
    if (event.kind != trace::ManagedEventKind::migration ||
        direction_of(event) != MoveDirection::between_devices)
        return;
    const bool beside = std::ranges::any_of(fault_times_, [&event](const TimeSpan& time) {
        return time.begin <= event.start && event.start <= time.end;
    });
    if (beside)
        reader::add_saturated(between_beside_faults_, event.bytes);
}

std::uint64_t ManagedTotals::between_devices(std::uint64_t told) const {
    if (told_.between_devices == 0)
        return told;
    const double by_faults = static_cast<double>(device_faults(between_beside_faults_));
    const double scale = by_faults / static_cast<double>(told_.between_devices);
    return scale > 1 ? reader::saturated(static_cast<double>(told) * scale) : told;
}

double ManagedTotals::told_share() const {
    const MovedBytes told = told_bytes();
    const double part = static_cast<double>(told.to_device) + static_cast<double>(told.to_host);
    const double whole =
        static_cast<double>(exact_.bytes_to_device) + static_cast<double>(exact_.bytes_to_host);
    return whole > part ? part / whole : 1;
}

bool ManagedTotals::all_told() const {
    const MovedBytes told = told_bytes();
    return (!gap_ && lost_ == 0) ||
           (told.to_device >= exact_.bytes_to_device && told.to_host >= exact_.bytes_to_host);
}

bool ManagedTotals::shares_out() const {
    const MovedBytes told = told_bytes(), whole = to_share_out();
    return !all_told() && (whole.to_device > told.to_device || whole.to_host > told.to_host);
}

} // namespace umadvisor::managed
