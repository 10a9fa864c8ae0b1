#include "analyzer/rules/link_time.hpp"

#include "analyzer/facts/call.hpp"
#include "analyzer/reader/saturated.hpp"

#include <algorithm>

namespace umadvisor::rules {
namespace {

/// A kernel that uses all of the memory takes at least `least_part` of the link's time for it; a kernel that is
/// bound by the link takes at most `most_times` as long.
constexpr double least_part = 0.7, most_times = 2;
/// A scattered access takes the link as long as this many contiguous bytes: 8.4 million threads that each wrote
/// a word somewhere in 128 MiB took 11.3 ms on an H200.
constexpr double scattered_bytes = 74;
/// One transfer of the link holds eight words. A kernel that uses all of the memory, but one word of each
/// transfer, takes at most this many times as long as one with contiguous accesses.
constexpr double most_scattered_times = 8;
/// Device memory that the kernel also reaches does not explain its time if it is less than this part.
constexpr double few_local = 1.0 / 64;

double ns_at(double bytes, double bytes_per_second) {
    return bytes / bytes_per_second * 1e9;
}

double threads_of(const tables::LaunchGroup& group) {
    double threads = 1;
    for (int i = 0; i < 3; ++i)
        threads *= static_cast<double>(group.grid[i]) * static_cast<double>(group.block[i]);
    return threads;
}

} // namespace

std::optional<LinkTime> link_time(const Profile& profile, const RemoteWork& work,
                                  const tables::LaunchTotals& launches, const RemoteReach& reach) {
    const machine::Rates& rates = profile.rates();
    const auto count = static_cast<double>(reach.count);
    const double remote = static_cast<double>(reach.remote_bytes) / count;
    const double local = static_cast<double>(reach.local_bytes) / count;
    if (work.is_set()) {
        const double across_ns = ns_at(remote, rates.device_to_pinned);
        return LinkTime{across_ns, across_ns - std::min(across_ns, ns_at(remote, rates.memory_set))};
    }
    const double each_ns = launches.usual_ns();
    const double local_ns = facts::least_work_ns + ns_at(remote + local, rates.device_memory);
    const double one_way = static_cast<double>(reach.one_way_bytes) / count;
    const double least_ns =
        least_part * ns_at(one_way, std::max(rates.pinned_to_device, rates.device_to_pinned));
    if (each_ns < least_ns || each_ns < 2 * local_ns)
        return std::nullopt;
    const double across_ns = ns_at(remote, rates.remote_access);
    if (each_ns <= most_times * across_ns)
        return LinkTime{each_ns, std::min(each_ns - local_ns, across_ns), false, true};
    const double scattered_ns = ns_at(threads_of(work.group) * scattered_bytes, rates.device_to_pinned);
    if (local > few_local * remote || each_ns > most_scattered_times * across_ns ||
        each_ns > most_times * scattered_ns)
        return std::nullopt;
    return LinkTime{each_ns, std::min(each_ns - local_ns, scattered_ns), true, true};
}

} // namespace umadvisor::rules
