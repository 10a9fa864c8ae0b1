#include "analyzer/tables/launches.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace umadvisor::tables {

std::string_view name(Basis basis) {
    constexpr std::array<std::string_view, 4> names{"measured", "extrapolated", "inferred", "unknown"};
    return names[static_cast<std::size_t>(basis)];
}

void LaunchTotals::measure(std::uint64_t nanoseconds) {
    ++measured;
    measured_ns += nanoseconds;
    longest_ns = std::max(longest_ns, nanoseconds);
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
            shape.shared_bytes,
            shape.stack.outside()};
}

void Launches::define(std::uint32_t thread, const reader::Shape& shape) {
    std::vector<std::uint32_t>& shapes = threads_[thread].shapes;
    if (shape.place >= shapes.size())
        shapes.resize(std::size_t{shape.place} + 1);
    shapes[shape.place] = unresolved;
}

/// Called at the first launch of a shape, not at its definition: groups are of launches.
[[gnu::noinline]] std::uint32_t Launches::resolve(Thread& thread, const reader::Shape& shape) {
    return thread.shapes[shape.place] = number_of(thread, *groups_.try_emplace(group_of(shape)).first);
}

std::uint32_t Launches::number_of(Thread& thread, Group& group) {
    const std::size_t known = thread.numbers.size();
    std::uint32_t& number = thread.numbers[reinterpret_cast<std::uintptr_t>(&group)];
    if (thread.numbers.size() != known) {
        number = static_cast<std::uint32_t>(thread.launched.size());
        thread.launched.push_back({.group = &group, .call_time = {}});
    }
    return number;
}

Launches::Group* Launches::add(std::uint32_t thread, const trace::Launch& launch, const reader::Shape* shape) {
    ++count_;
    if (shape == nullptr) {
        ++without_shape_;
        return nullptr;
    }
    Thread& of_thread = threads_[thread];
    std::uint32_t number = of_thread.shapes[shape->place];
    if (number == unresolved)
        number = resolve(of_thread, *shape);
    Launched& launched = of_thread.launched[number];
    ++launched.count;
    launched.call_time.add(launch.duration, launch.stands_for);
    if (launch.status != 0)
        ++launched.failed;
    else if (launch.sample != 0)
        samples_.await(launch.sample,
                       [totals = &launched.group->second](std::uint64_t ns) { totals->measure(ns); });
    else
        await(of_thread, number);
    return launched.group;
}

void Launches::graph_launched(std::uint32_t thread) {
    Thread& of_thread = threads_[thread];
    await(of_thread, number_of(of_thread, graphs_));
}

void Launches::add_replayed(const LaunchGroup& group, std::uint64_t count) {
    LaunchTotals& totals = groups_[group];
    totals.count += count;
    totals.replayed += count;
    count_ += count;
}

void Launches::synchronized(std::uint32_t thread, std::uint64_t ticks) {
    Thread* const of_thread = threads_.find(thread);
    if (of_thread == nullptr)
        return;
    std::uint64_t launches = 0;
    for (const std::uint32_t number : of_thread->waited_for)
        launches += of_thread->launched[number].outstanding;
    const double ticks_each =
        static_cast<double>(ticks) / static_cast<double>(std::max<std::uint64_t>(1, launches));
    for (const std::uint32_t number : of_thread->waited_for) {
        Launched& launched = of_thread->launched[number];
        launched.group->second.waited_ticks +=
            ticks_each * static_cast<double>(std::exchange(launched.outstanding, 0));
    }
    of_thread->waited_for.clear();
}

void Launches::finish() {
    threads_.for_each([this](const Thread& thread) {
        for (const Launched& launched : thread.launched) {
            LaunchTotals& totals = launched.group->second;
            totals.count += launched.count;
            totals.failed += launched.failed;
            totals.call_time += launched.call_time;
            call_time_ += launched.call_time;
        }
    });
    for (auto& [group, totals] : groups_) {
        LaunchGroup twin = group;
        twin.outside = !group.outside;
        if (const auto found = groups_.find(twin); found != groups_.end())
            totals.outside = &found->second;
    }
}

const LaunchTotals* Launches::find(const LaunchGroup& group) const {
    const auto found = groups_.find(group);
    return found == groups_.end() ? nullptr : &found->second;
}

DeviceTimeEstimate Launches::estimate(const LaunchTotals& totals, double ns_per_tick) const {
    const std::uint64_t ran = totals.count - totals.failed;
    if (totals.measured >= ran && ran != 0)
        return {static_cast<double>(totals.measured_ns), Basis::measured};
    if (totals.measured != 0) {
        const auto measured_ns = static_cast<double>(totals.measured_ns);
        const double alike_ns = measured_ns + totals.usual_ns() * static_cast<double>(ran - totals.measured);
        // The measured ones may have been slower: the others ended before the waits behind them did.
        const bool settled = totals.settled_ns > 0 && totals.replayed == 0;
        return {settled ? std::min(alike_ns, std::max(measured_ns, totals.settled_ns)) : alike_ns,
                Basis::extrapolated};
    }
    if (totals.outside != nullptr && totals.outside->measured != 0) // of the same kernel and shape
        return {totals.outside->usual_ns() * static_cast<double>(ran), Basis::extrapolated};
    if (totals.waited_ticks > 0)
        return {totals.waited_ticks * ns_per_tick, Basis::inferred};
    return {};
}

} // namespace umadvisor::tables
