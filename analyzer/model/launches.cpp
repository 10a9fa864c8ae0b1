#include "analyzer/model/launches.hpp"

#include <algorithm>
#include <array>

namespace umadvisor::model {

std::string_view name(Basis basis) {
    constexpr std::array<std::string_view, 4> names{"measured", "extrapolated", "inferred", "unknown"};
    return names[static_cast<std::size_t>(basis)];
}

double LaunchTotals::usual_ns() const {
    if (measured == 0)
        return 0;
    if (measured == 1)
        return static_cast<double>(measured_ns);
    return static_cast<double>(measured_ns - longest_ns) / static_cast<double>(measured - 1);
}

LaunchGroup Launches::group_of(const reader::Shape& shape) {
    return {shape.function,
            {shape.grid[0], shape.grid[1], shape.grid[2]},
            {shape.block[0], shape.block[1], shape.block[2]},
            shape.shared_bytes};
}

const Launches::Group* Launches::add(std::uint32_t thread, const trace::Launch& launch,
                                     const reader::Shape* shape) {
    ++count_;
    if (shape == nullptr) {
        ++without_shape_;
        return nullptr;
    }
    Group& group = group_with(*shape);
    LaunchTotals& totals = group.second;
    ++totals.count;
    totals.call_time.add(launch.duration, launch.stands_for);
    call_time_.add(launch.duration, launch.stands_for);
    if (launch.status != 0) {
        ++totals.failed;
        return &group;
    }
    if (launch.sample != 0)
        awaited_.add(launch.sample, &totals);
    else
        await(thread, totals);
    return &group;
}

Launches::Group& Launches::group_with(const reader::Shape& shape) {
    const LaunchGroup group = group_of(shape);
    Group*& recent = recent_[shape.number % recent_.size()];
    if (recent == nullptr || recent->first != group)
        recent = &*groups_.try_emplace(group).first;
    return *recent;
}

void Launches::await(std::uint32_t thread, LaunchTotals& totals) {
    auto found = std::ranges::find(totals.outstanding, thread, &LaunchTotals::Outstanding::thread);
    if (found == totals.outstanding.end())
        found = totals.outstanding.insert(found, {thread, 0});
    if (found->count++ == 0)
        outstanding_[thread].push_back(&totals);
}

void Launches::add_replayed(const LaunchGroup& group, std::uint64_t count) {
    LaunchTotals& totals = groups_[group];
    totals.count += count;
    totals.replayed += count;
    count_ += count;
}

void Launches::synchronized(std::uint32_t thread, std::uint64_t ticks) {
    std::vector<LaunchTotals*>* const waited_for = outstanding_.find(thread);
    if (waited_for == nullptr)
        return;
    const auto of_thread = [thread](LaunchTotals& totals) {
        return std::ranges::find(totals.outstanding, thread, &LaunchTotals::Outstanding::thread);
    };
    std::uint64_t launches = 0;
    for (LaunchTotals* const totals : *waited_for)
        launches += of_thread(*totals)->count;
    for (LaunchTotals* const totals : *waited_for) {
        const auto outstanding = of_thread(*totals);
        totals->waited_ticks += static_cast<double>(ticks) * static_cast<double>(outstanding->count) /
                                static_cast<double>(launches);
        *outstanding = totals->outstanding.back(); // a thread that has ended leaves nothing
        totals->outstanding.pop_back();
    }
    waited_for->clear();
}

bool Launches::measure(std::uint64_t sample, std::uint64_t nanoseconds) {
    const auto awaited = awaited_.take(sample);
    if (!awaited)
        return false;
    LaunchTotals& totals = **awaited;
    ++totals.measured;
    totals.measured_ns += nanoseconds;
    totals.longest_ns = std::max(totals.longest_ns, nanoseconds);
    return true;
}

const LaunchTotals* Launches::find(const LaunchGroup& group) const {
    const auto found = groups_.find(group);
    return found == groups_.end() ? nullptr : &found->second;
}

DeviceTimeEstimate Launches::estimate(const LaunchTotals& totals, double ns_per_tick) const {
    const std::uint64_t ran = totals.count - totals.failed;
    if (totals.measured >= ran && ran != 0)
        return {static_cast<double>(totals.measured_ns), Basis::measured};
    if (totals.measured != 0)
        return {static_cast<double>(totals.measured_ns) +
                    totals.usual_ns() * static_cast<double>(ran - totals.measured),
                Basis::extrapolated};
    if (totals.waited_ticks > 0)
        return {totals.waited_ticks * ns_per_tick, Basis::inferred};
    return {};
}

} // namespace umadvisor::model
