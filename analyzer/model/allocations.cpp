#include "analyzer/model/allocations.hpp"

#include <algorithm>

namespace umadvisor::model {
namespace {

constexpr std::size_t most_functions = 8; ///< named in a report
constexpr std::size_t most_samples = 64;  ///< first touches of one site whose times are compared

void add_some(std::set<std::uint64_t>& to, std::uint64_t value) {
    if (to.size() < most_functions)
        to.insert(value);
}

} // namespace

void ManagedHabit::add(const ManagedHabit& other) {
    allocations += other.allocations;
    bytes += other.bytes;
    to_device += other.to_device;
    to_host += other.to_host;
    bytes_to_device += other.bytes_to_device;
    bytes_to_host += other.bytes_to_host;
    least_coverage = std::min(least_coverage, other.least_coverage);
    for (const std::uint64_t function : other.functions)
        add_some(functions, function);
    if (launch_stack == 0) {
        launch_stack = other.launch_stack;
        launch_entry = other.launch_entry;
        sync_stack = other.sync_stack;
    }
    for (const TouchSample& touch : other.samples)
        if (samples.size() < most_samples)
            samples.push_back(touch);
}

void Allocations::add(const trace::Alloc& record) {
    AllocationTotals& site = sites_[{record.stack, record.entry, record.symbol, record.memory, record.origin}];
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
    Live& live = live_[record.allocation];
    live = {record.address, record.bytes, &site, nullptr};
    // What umadvisor made managed is not the program's managed memory: no advice on it.
    if (record.memory == trace::Memory::managed && record.origin == trace::Origin::program)
        live.managed = std::make_unique<Managed>(record.bytes);
}

void Allocations::remove(const trace::Free& record) {
    const auto found = live_.find(record.allocation);
    if (record.status != 0 || found == live_.end())
        return;
    Live& live = found->second;
    --live.site->live;
    live.site->live_bytes -= live.bytes;
    retire(live);
    live_.erase(found);
}

Allocations::Managed* Allocations::find_managed(std::uint64_t allocation) {
    const auto found = live_.find(allocation);
    return found == live_.end() ? nullptr : found->second.managed.get();
}

void Allocations::launch(const trace::Launch& record, const reader::Shape& shape) {
    if (record.status != 0)
        return;
    for (const std::uint64_t allocation : shape.touched)
        reach(allocation, Launches::group_of(shape), shape.stack, shape.entry, record.sample);
}

void Allocations::reach(std::uint64_t allocation, const LaunchGroup& group, std::uint64_t stack,
                        std::uint64_t entry, std::uint64_t sample) {
    Managed* managed = find_managed(allocation);
    if (managed == nullptr)
        return;
    add_some(managed->functions, group.function);
    if (managed->launched)
        return;
    managed->launched = true;
    managed->stack = stack;
    managed->entry = entry;
    managed->sample = sample;
    managed->group = group;
    if (sample != 0 && !managed->moved && managed->residence.on_host())
        touches_.emplace(sample, 0); // its device time may be read before we know that it moved anything
}

void Allocations::prefetch(const trace::Prefetch& record) {
    const auto found = live_.find(record.allocation);
    if (record.status != 0 || found == live_.end() || !found->second.managed ||
        record.address < found->second.address)
        return;
    found->second.managed->residence.prefetch(record.address - found->second.address, record.bytes,
                                              record.location, syncs_);
}

void Allocations::sample(const trace::Residency& record) {
    Managed* managed = find_managed(record.allocation);
    if (managed == nullptr)
        return;
    const Residence::Change change = managed->residence.sample(record, syncs_);
    if (change == Residence::Change::left_host) {
        managed->movers.merge(managed->functions);
        managed->moved_stack = managed->stack;
        managed->moved_entry = managed->entry;
        managed->sync_stack = last_sync_stack_;
        if (!managed->moved && managed->launched && managed->sample != 0)
            managed->touch = {managed->sample, 0, managed->group};
        managed->moved = true;
    }
    if (record.moment == trace::SampleMoment::after_synchronize) {
        managed->functions.clear();
        managed->launched = false;
    }
}

void Allocations::synchronized(std::uint64_t stack) {
    ++syncs_;
    last_sync_stack_ = stack;
}

void Allocations::measure(std::uint64_t sample, std::uint64_t nanoseconds) {
    if (const auto found = touches_.find(sample); found != touches_.end())
        found->second = nanoseconds;
}

std::uint64_t Allocations::touch_ns(std::uint64_t sample) const {
    const auto found = touches_.find(sample);
    return found == touches_.end() ? 0 : found->second;
}

void Allocations::add_habit(ManagedHabit& habit, const Live& live, const Moves& moves) {
    const Managed& managed = *live.managed;
    ++habit.allocations;
    habit.bytes += live.bytes;
    habit.to_device += moves.to_device;
    habit.to_host += moves.to_host;
    habit.bytes_to_device += moves.bytes_to_device;
    habit.bytes_to_host += moves.bytes_to_host;
    habit.least_coverage = std::min(habit.least_coverage, managed.residence.coverage());
    for (const std::uint64_t function : managed.movers)
        add_some(habit.functions, function);
    if (habit.launch_stack == 0) {
        habit.launch_stack = managed.moved_stack;
        habit.launch_entry = managed.moved_entry;
        habit.sync_stack = managed.sync_stack;
    }
    if (managed.touch.sample != 0 && habit.samples.size() < most_samples)
        habit.samples.push_back({managed.touch.sample, moves.first_bytes, managed.touch.group});
}

void Allocations::retire(Live& live) {
    if (!live.managed || live.managed->residence.samples() == 0)
        return;
    ++live.site->observed;
    const Moves moves = live.managed->residence.moves();
    if (moves.to_device >= bounce_moves && moves.to_host + 1 >= bounce_moves)
        add_habit(live.site->bouncing, live, moves);
    else if (moves.to_device != 0 && moves.populated_by_host)
        add_habit(live.site->first_touch, live, moves);
}

void Allocations::finish() {
    for (auto& [id, live] : live_)
        retire(live);
    live_.clear();
}

} // namespace umadvisor::model
