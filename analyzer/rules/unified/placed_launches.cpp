#include "analyzer/rules/unified/placed_launches.hpp"

#include <utility>

namespace umadvisor::rules {

void PlacedLaunches::add(const trace::Alloc& record) {
    if (record.status == 0 && record.memory == trace::Memory::managed &&
        record.origin == trace::Origin::program && record.bytes <= most_bytes)
        live_[record.allocation] = {
            .groups = &sites_[{record.stack, record.entry, record.symbol, record.memory, record.origin}],
            .pending = {}};
}

void PlacedLaunches::reach_all(const trace::Launch& record, const reader::Shape& shape) {
    bool reached = false;
    for (const std::uint64_t allocation : shape.touched) {
        const auto found = live_.find(allocation);
        if (found == live_.end())
            continue;
        Live& live = found->second;
        reached = true;
        live.lost = live.lost || live.pending.size() == most_pending;
        if (!live.lost)
            live.pending.push_back({tables::Launches::group_of(shape), shape.stack, record.sample});
    }
    if (reached && record.sample != 0 && measured_.size() < most_measured)
        measured_.try_emplace(record.sample);
}

void PlacedLaunches::add(const trace::Residency& record) {
    if (record.moment != trace::SampleMoment::after_synchronize || record.pages == 0)
        return;
    if (const auto found = live_.find(record.allocation); found != live_.end())
        settle(found->second, record.host_pages == 0              ? Place::device
                              : record.host_pages == record.pages ? Place::host
                                                                  : Place::unknown);
}

void PlacedLaunches::settle(Live& live, Place place) {
    const Place before = std::exchange(live.last, place);
    const std::vector<Pending> launches = std::exchange(live.pending, {});
    if (std::exchange(live.lost, false) || place == Place::unknown || (launches.size() > 1 && place != before))
        return;
    for (const Pending& each : launches) {
        auto found = live.groups->find(each.group);
        if (found == live.groups->end()) {
            if (live.groups->size() == most_groups)
                continue;
            found = live.groups->try_emplace(each.group).first;
        }
        Group& group = found->second;
        group.stack = each.stack;
        Launched& launched = place == Place::host ? group.far : group.near;
        ++launched.count;
        if (each.sample != 0 && launched.samples.size() < most_samples)
            launched.samples.push_back(each.sample);
    }
}

void PlacedLaunches::measure(std::uint64_t sample, std::uint64_t nanoseconds) {
    if (const auto found = measured_.find(sample); found != measured_.end())
        found->second = nanoseconds;
}

std::vector<double> PlacedLaunches::times(const Launched& launched) const {
    std::vector<double> times;
    for (const std::uint64_t sample : launched.samples)
        if (const auto found = measured_.find(sample); found != measured_.end() && found->second != 0)
            times.push_back(static_cast<double>(found->second));
    return times;
}

} // namespace umadvisor::rules
