#include "analyzer/tables/allocations.hpp"

#include "analyzer/facts/direction.hpp"
#include "analyzer/reader/saturated.hpp"

#include <algorithm>
#include <utility>

namespace umadvisor::tables {
namespace {

constexpr std::size_t most_first_launches = 64; ///< of one site
constexpr std::size_t most_firsts = 4096;       ///< of all
constexpr std::size_t most_open = 256;          ///< allocations
constexpr std::size_t most_groups = 64;         ///< of one site

} // namespace

void PopulatedParts::add(const PopulatedParts& other) {
    reader::add_saturated(bytes, other.bytes);
    faults += other.faults;
    for (const auto& [group, some] : other.launches)
        launch(group, some.stack, some.count);
}

void PopulatedParts::launch(const LaunchGroup& group, ids::StackId stack, double count) {
    const auto found = launches.find(group);
    if (found != launches.end())
        found->second.count += count;
    else if (launches.size() < most_groups)
        launches.emplace(group, Launches{count, stack});
}

void Allocations::add(const trace::Alloc& record) {
    AllocationTotals& site = sites_[ids::AllocationSite::of(record)];
    if (record.status != 0) {
        ++site.failed;
        return;
    }
    ++site.count;
    site.bytes += record.bytes;
    site.ticks += record.duration;
    site.largest = std::max(site.largest, record.bytes);
    site.live_bytes += record.bytes;
    site.peak_bytes = std::max(site.peak_bytes, site.live_bytes);
    ++site.live;
    // Memory that umadvisor made managed is not the program's managed memory: it gets no advice.
    const bool managed = record.memory == trace::Memory::managed && record.origin == trace::Origin::program;
    live_[record.allocation] = {
        .bytes = record.bytes, .site = &site, .managed = managed, .unknown_uses = unknown_uses_};
    any_managed_ |= managed;
}

void Allocations::add(const trace::Free& record) {
    const Live* const live = live_.find(record.allocation);
    if (record.status != 0 || live == nullptr)
        return;
    --live->site->live;
    live->site->live_bytes -= live->bytes;
    live_.erase(record.allocation);
}

std::vector<Holding> Allocations::holdings(bool of_host) const {
    std::vector<Holding> all;
    for (const auto& [site, totals] : sites())
        if (totals.live_bytes != 0 && facts::is_host_memory(site.memory) == of_host)
            all.push_back({site, totals.live, totals.live_bytes});
    return all;
}

Allocations::Live* Allocations::find_managed(trace::AllocationId allocation) {
    Live* const live = live_.find(allocation);
    return live == nullptr || !live->managed ? nullptr : live;
}

void Allocations::reach_all(const trace::Launch& record, const reader::Shape& shape) {
    open_parts(shape);
    for (const trace::AllocationId allocation : shape.touched)
        reach(allocation, Launches::group_of(shape), record.sample, shape.stack);
    unknown_uses_ += !shape.scanned || shape.untold != 0;
}

void Allocations::reach(trace::AllocationId allocation, const LaunchGroup& group, std::uint64_t sample,
                        ids::StackId stack) {
    Live* const live = find_managed(allocation);
    if (live == nullptr)
        return;
    ++live->launches;
    if (std::exchange(live->launched_on, true))
        return;
    const bool populates = is_fresh(*live);
    auto first = first_launches_.find(sample);
    const bool timed = sample != 0 && (first != first_launches_.end() || first_launches_.size() < most_firsts);
    if (populates && timed && live->site->populating.size() < most_first_launches)
        live->site->populating.push_back({{sample, live->bytes, group}, stack});
    else if (populates)
        reader::add_saturated(live->site->populated_untimed, live->bytes);
    if (!timed)
        return;
    if (first == first_launches_.end()) {
        first = first_launches_.try_emplace(sample).first;
        samples_.await(sample, [&launch = first->second](std::uint64_t ns) { launch.ns = ns; });
    }
    reader::add_saturated(first->second.bytes, live->rest ? live->on_host : live->bytes);
    if (live->on_host != 0 && live->site->first_launches.size() != most_first_launches) {
        live->site->first_launches.push_back({sample, live->on_host, group});
        live->first = live->site->first_launches.size();
    }
}

void Allocations::open_parts(const reader::Shape& shape) {
    if (!shape.scanned || shape.untold != 0)
        return;
    const auto fresh = [this](trace::AllocationId allocation) {
        const Live* const live = find_managed(allocation);
        return live != nullptr && is_fresh(*live);
    };
    const auto count = static_cast<double>(std::ranges::count_if(shape.touched, fresh));
    for (const trace::AllocationId allocation : shape.touched) {
        if (!fresh(allocation) || (open_.size() == most_open && !open_.contains(allocation)))
            continue;
        const Live& live = *find_managed(allocation);
        OpenParts& open = open_.try_emplace(allocation, OpenParts{live.site, live.bytes, {}}).first->second;
        open.since.launch(Launches::group_of(shape), shape.stack, 1 / count);
    }
}

void Allocations::add(const trace::Sync& record) {
    waited_ = waited_ || record.status == 0;
}

/// Faults that move nothing to the device populate pages there. They are shared by bytes.
void Allocations::add(const trace::ManagedCounters& record) {
    const trace::ManagedCounters before = std::exchange(counters_, record);
    const bool moved = record.bytes_to_device > before.bytes_to_device;
    double bytes = 0;
    for (const auto& [allocation, open] : open_)
        bytes += static_cast<double>(open.bytes);
    if (!moved && record.device_faults > before.device_faults)
        for (auto& [allocation, open] : open_) {
            Live* const live = find_managed(allocation);
            if (live != nullptr && !std::exchange(live->in_parts, true))
                open.since.bytes = open.bytes;
            open.since.faults = static_cast<double>(record.device_faults - before.device_faults) *
                                static_cast<double>(open.bytes) / bytes;
            open.site->parts.add(std::exchange(open.since, {}));
        }
    if (std::exchange(waited_, false) || moved)
        open_.clear();
}

void Allocations::touch(trace::AllocationId allocation) {
    if (!any_managed_)
        return;
    if (Live* const live = find_managed(allocation))
        live->touched = true;
}

/// A look after the wait for launches. Memory that is still on the host was not moved by the first of them.
void Allocations::settle(Live& live, std::uint64_t on_host) {
    const std::uint64_t launches = std::exchange(live.launches, 0);
    if (live.settled || launches == 0)
        return;
    if (const std::size_t at = std::exchange(live.first, 0); at != 0) {
        FirstLaunch& first = live.site->first_launches[at - 1];
        const std::uint64_t left = std::min(first.bytes, launches == 1  ? on_host
                                                         : on_host != 0 ? first.bytes
                                                                        : 0);
        first.bytes -= left;
        first.seen = launches == 1;
        First& all = first_launches_[first.sample];
        all.bytes -= std::min(all.bytes, left);
        if (first.seen && first.bytes == 0 && at == live.site->first_launches.size())
            live.site->first_launches.pop_back();
    }
    live.settled = on_host == 0 || on_host > live.on_host;
    live.launched_on = live.settled;
    live.rest = true;
}

void Allocations::add(const trace::Residency& record) {
    Live* const live = find_managed(record.allocation);
    if (live == nullptr || record.pages == 0)
        return;
    live->site->observed += !std::exchange(live->looked_at, true);
    // A part of a large allocation stands for all of it.
    const double share =
        std::min(1.0, static_cast<double>(record.host_pages) / static_cast<double>(record.pages));
    live->touched = live->touched || record.host_pages != 0;
    if (record.offset != 0)
        return;
    const std::uint64_t on_host = reader::saturated(share * static_cast<double>(live->bytes));
    if (record.moment == trace::SampleMoment::after_synchronize)
        settle(*live, on_host);
    else if ((live->launched_on || live->rest) && on_host > live->on_host)
        live->settled = live->launched_on = true; // the host took it back
    live->on_host = on_host;
}

const Allocations::First& Allocations::first_launch(std::uint64_t sample) const {
    static constexpr First none;
    const auto found = first_launches_.find(sample);
    return found == first_launches_.end() ? none : found->second;
}

} // namespace umadvisor::tables
