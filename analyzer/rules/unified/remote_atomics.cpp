/// The driver leaves a page that both sides want on the host, and maps it for the device. From then on each
/// atomic of a kernel there crosses the link, for as long as the page stays: milliseconds where the same kernel
/// takes microseconds with the page on the device.
#include "analyzer/rules/unified/remote_atomics.hpp"

#include "analyzer/rules/counter.hpp"
#include "analyzer/rules/words.hpp"
#include "analyzer/tables/allocations.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <vector>

namespace umadvisor::rules {
namespace {

/// The residency samples after waits show where a launch found the memory. Where samples are left out since
/// they show the same, the launches in between are like those around them. Memory: the live allocations that
/// are small, and of each line a few groups of launches.
class PlacedLaunches : public Counter {
public:
    static constexpr std::uint64_t most_bytes = 64 * 1024; ///< of an allocation: less than this is a place

    explicit PlacedLaunches(const Begin& begin) : samples_(begin.samples) {}

    void add(const trace::Alloc& record);
    void add(const trace::Free& record) { live_.erase(record.allocation); }
    void add(const trace::Residency& record);
    void add(const Launched& launched) {
        if (launched.shape != nullptr && launched.record.status == 0 && !live_.empty())
            reach_all(launched.record, *launched.shape);
    }

    const std::map<ids::AllocationSite, PlacedGroups>& sites() const { return sites_; }
    /// Device times of those that were read, in nanoseconds.
    std::vector<double> times(const PlacedTimes& launched) const;

private:
    static constexpr std::size_t most_groups = 64, most_samples = 32, most_pending = 256,
                                 most_measured = 16'384;

    enum class Place : std::uint8_t { unknown, device, host };
    struct Pending {
        tables::LaunchGroup group;
        ids::StackId stack;
        std::uint64_t sample = 0;
    };
    struct Live {
        PlacedGroups* groups = nullptr;
        Place last = Place::unknown;  ///< after the last wait with a sample
        std::vector<Pending> pending; ///< launches since
        bool lost = false;            ///< more of them than are kept
    };
    void reach_all(const trace::Launch& record, const reader::Shape& shape);
    void settle(Live& live, Place place);

    facts::Samples& samples_;
    std::map<ids::AllocationSite, PlacedGroups> sites_;
    std::unordered_map<trace::AllocationId, Live> live_;
    std::unordered_map<std::uint64_t, std::uint64_t> measured_; ///< nanoseconds by sample; 0: not read
};

void PlacedLaunches::add(const trace::Alloc& record) {
    if (record.status == 0 && record.memory == trace::Memory::managed &&
        record.origin == trace::Origin::program && record.bytes <= most_bytes)
        live_[record.allocation] = {.groups = &sites_[ids::AllocationSite::of(record)], .pending = {}};
}

void PlacedLaunches::reach_all(const trace::Launch& record, const reader::Shape& shape) {
    bool reached = false;
    for (const trace::AllocationId allocation : shape.touched) {
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
        samples_.await(record.sample,
                       [&measured_ns = measured_[record.sample]](std::uint64_t ns) { measured_ns = ns; });
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
        PlacedGroup& group = found->second;
        group.stack = each.stack;
        PlacedTimes& launched = place == Place::host ? group.far : group.near;
        ++launched.count;
        if (each.sample != 0 && launched.samples.size() < most_samples)
            launched.samples.push_back(each.sample);
    }
}

std::vector<double> PlacedLaunches::times(const PlacedTimes& launched) const {
    std::vector<double> times;
    for (const std::uint64_t sample : launched.samples)
        if (const auto found = measured_.find(sample); found != measured_.end() && found->second != 0)
            times.push_back(static_cast<double>(found->second));
    return times;
}

/// A smaller ratio is noise, or the kernel's time for other data.
constexpr double least_ratio = 2;
constexpr std::size_t fewest_far = 2;
/// A kernel may take longer later because it has more to do. Unless the driver reported atomics, or so many
/// launches were fast, the slow ones have to take `sure_ratio` times as long.
constexpr std::size_t fewest_near = 3;
constexpr double sure_ratio = 16;

struct Slow {
    std::uint64_t function = 0;
    ids::StackId stack{};
    std::uint64_t count = 0;
    double near_ns = 0, far_ns = 0; ///< of one
    double longer_ns = 0;           ///< of all
};

double mean_of(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The value below which a quarter of `values` lie (`quarters` 1), half (2), or three quarters (3).
double quartile(std::vector<double> values, std::size_t quarters) {
    std::ranges::sort(values);
    return values[std::min(values.size() - 1, values.size() * quarters / 4)];
}

/// Reported only where launches with the memory on the host are slower than those with it on the device, except
/// for a quarter of both: the memory may move while a kernel runs.
std::optional<Slow> slow_group(const Profile& profile, const tables::LaunchGroup& launched,
                               const PlacedGroup& group, bool atomics) {
    const PlacedLaunches& placed = profile.counted<PlacedLaunches>();
    const std::vector<double> near = placed.times(group.near), far = placed.times(group.far);
    if (near.empty() || far.size() < fewest_far || quartile(far, 1) <= quartile(near, 3))
        return std::nullopt;
    Slow slow{launched.function, group.stack, group.far.count, quartile(near, 2), mean_of(far)};
    const bool sure = atomics || near.size() >= fewest_near;
    if (slow.far_ns < (sure ? least_ratio : sure_ratio) * slow.near_ns)
        return std::nullopt;
    // A copy of the value after each launch is what the remedy costs.
    slow.longer_ns = static_cast<double>(slow.count) *
                     std::max(0.0, slow.far_ns - slow.near_ns - profile.rates().small_copy_ns);
    return slow;
}

/// That which loses most comes first.
std::vector<Slow> slow_groups(const ManagedMemory& memory, const PlacedByLine& placed, bool atomics) {
    std::vector<Slow> all;
    const auto found = placed.find(memory.site);
    if (found == placed.end())
        return all;
    for (const PlacedGroups* const groups : found->second)
        for (const auto& [launched, group] : *groups)
            if (const std::optional<Slow> slow = slow_group(memory.profile, launched, group, atomics))
                all.push_back(*slow);
    std::ranges::stable_sort(all, std::ranges::greater{}, &Slow::longer_ns);
    return all;
}

std::string advice_on(const ManagedMemory& memory) {
    return fmt::format("{}; or, if the host touches it only between launches, {} before each launch",
                       keep_counters_on_device(memory), prefetch_to_device(memory));
}

} // namespace

PlacedByLine placed_by_line(const Profile& profile, const LineOf& line_of) {
    PlacedByLine placed;
    for (const auto& [site, groups] : profile.counted<PlacedLaunches>().sites()) {
        ids::AllocationSite line = site;
        line.stack = line_of(site.stack);
        placed[line].push_back(&groups);
    }
    return placed;
}

std::optional<RemoteAtomics> remote_atomics(const ManagedMemory& memory, const PlacedByLine& placed,
                                            const LineOf& line_of) {
    const managed::ManagedTally& told = memory.activity.recorded;
    const std::uint64_t atomics = told.device_faults[static_cast<std::size_t>(trace::FaultAccess::atomic)];
    const std::uint64_t mapped = managed::sum_of(told.remote_bytes);
    if (atomics == 0 && mapped == 0)
        return std::nullopt;
    const std::vector<Slow> slow = slow_groups(memory, placed, atomics != 0);
    if (slow.empty())
        return std::nullopt;
    RemoteAtomics found;
    Finding& finding = found.finding;
    std::uint64_t launches = 0;
    std::set<ids::StackId> launched_from;
    for (const Slow& each : slow) {
        launches += each.count;
        finding.saving_ns += each.longer_ns;
        launched_from.insert(each.stack);
        found.kernels.insert(each.function);
        if (each.stack != slow.front().stack)
            finding.places.emplace_back(kernels_text(memory.profile, {each.function}) + " is launched here",
                                        each.stack);
    }
    for (auto& place : host_lines(memory, nullptr, "the host touches it here", line_of))
        finding.places.push_back(std::move(place));
    finding.rule = &uma_215;
    finding.title = finding.rule->title;
    finding.stack = line_of(slow.front().stack);
    finding.allocation_stack = memory.site.made_at();
    finding.allocation_text = allocation_text(memory);
    finding.summary =
        fmt::format("launch of {}: {} each with this memory on the host, {} with it on the device; {} accessed "
                    "it across the link",
                    kernels_text(memory.profile, {slow.front().function}), time_text(slow.front().far_ns),
                    time_text(slow.front().near_ns), count_text(launches, "launch"));
    if (atomics != 0)
        finding.details.push_back("the driver reported atomics there");
    finding.evidence = {{"launches", static_cast<double>(launches)},
                        {"far_ns", slow.front().far_ns},
                        {"near_ns", slow.front().near_ns},
                        {"atomic_faults", static_cast<double>(atomics)},
                        {"mapped_bytes", static_cast<double>(mapped)}};
    finding.advice = advice_on(memory);
    finding.edit = lighter_work(memory.profile, {.launches = launched_from}, {.device_ns = finding.saving_ns});
    finding.saving_ns = within_recorded(memory.profile, finding.saving_ns);
    finding.basis = "device time of launches that left the memory on the host, minus that of the same kernels "
                    "with it on the device, minus a small copy each";
    finding.confidence = Confidence::medium;
    return found;
}

constinit const Rule uma_215{.id = "UMA-215",
                             .name = "remote-atomics",
                             .title = "kernels use atomics on managed memory across the link",
                             .find = &find_managed,
                             .counter = &count<PlacedLaunches>,
                             .fits = Fits::separate_memory,
                             .price = Price::rates,
                             .slows_kernels = true};

} // namespace umadvisor::rules
