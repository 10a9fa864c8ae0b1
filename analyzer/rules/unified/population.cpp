/// Managed memory that was never touched has no pages. The first kernel that uses it has them made, fault by
/// fault; a prefetch makes them all at once.
#include "analyzer/rules/unified/managed.hpp"
#include "analyzer/rules/unknown_work.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace umadvisor::rules {
namespace {

/// A prefetch of 64 MiB of untouched memory took 0.3 ms.
constexpr double make_block_ns = 0.3e6 / 32;
constexpr std::uint64_t block_bytes = 2 << 20;
/// Less takes a batch of faults or two. If the kernel has no later launch, that is inseparable from its work.
constexpr std::uint64_t least_unmeasured = 1 << 20;

struct Populated {
    std::uint64_t bytes = 0, launches = 0, measured = 0; ///< of launches that took longer
    std::uint64_t timed_bytes = 0, untimed_bytes = 0;    ///< made by launches with a known time; and by others
    double longer_ns = 0;                                ///< what making the pages took
    double saving_ns = 0;
    std::map<ids::StackId, std::set<std::uint64_t>> kernels; ///< by line of the launch
    std::set<ids::StackId> launched_from;                    ///< stacks
    double most_ns = 0;
    ids::StackId most_stack{};  ///< where most was lost
    double in_parts = 0;        ///< launches that made it part by part; 0: the first launch made all of it
    bool mostly_faults = false; ///< that is what these launches did

    void lost(double ns, ids::StackId stack, ids::StackId line, std::uint64_t function) {
        launched_from.insert(stack);
        kernels[line].insert(function);
        if (ns > most_ns) {
            most_ns = ns;
            most_stack = line;
        }
    }
};

/// It came to the host afterwards: kernels have used all of it, or nearly.
bool came_back(const Profile& profile, const ids::AllocationSite& site) {
    const auto found = profile.managed().sites().find(site);
    return found != profile.managed().sites().end() && found->second.made != 0 &&
           found->second.made_and_returned >= found->second.made / 4 * 3;
}

/// Faults of a device on it make pages there, and neither take them from another device nor map those of the
/// host.
bool stays_on_one_device(const Profile& profile, const ids::AllocationSite& site) {
    const auto found = profile.managed().sites().find(site);
    return found == profile.managed().sites().end() ||
           (found->second.devices.pairs().empty() && managed::sum_of(found->second.recorded.remote_bytes) == 0);
}

double by_faults(const machine::Rates& rates, std::uint64_t bytes) {
    return std::max(static_cast<double>(bytes) / rates.fault_to_device * 1e9, rates.device_fault_ns);
}

double by_prefetch(const machine::Rates& rates, std::uint64_t bytes) {
    return rates.prefetch_call_ns + static_cast<double>(bytes / block_bytes + 1) * make_block_ns;
}

/// How much longer one launch took because it made the pages. Nothing: unknown. Where later launches of the
/// kernel were measured, it is the difference to them, at most twice the time in which faults move as much;
/// else at most that time and the allocation's share of the launch.
std::optional<double> made_in_ns(const Profile& profile, const FirstLaunches& firsts,
                                 const tables::FirstLaunch& launch, bool returned) {
    const auto first = static_cast<double>(profile.allocations().first_launch(launch.sample).ns);
    if (first == 0)
        return std::nullopt;
    const double share = share_of(profile, launch), usual = by_faults(profile.rates(), launch.bytes);
    if (const std::optional<double> later = firsts.later_ns(profile, launch.group))
        return std::min(std::max(0.0, first - *later) * share, 2 * usual);
    if (!returned || launch.bytes < least_unmeasured)
        return std::nullopt;
    return std::min(first * share, usual);
}

void add(Populated& all, const Profile& profile, const FirstLaunches& firsts,
         const tables::PopulatingLaunch& each, bool returned, const LineOf& line_of) {
    const std::optional<double> longer = made_in_ns(profile, firsts, each.launch, returned);
    if (!longer)
        return;
    reader::add_saturated(all.timed_bytes, each.launch.bytes);
    const double saving = std::max(0.0, *longer - by_prefetch(profile.rates(), each.launch.bytes));
    if (saving == 0)
        return;
    ++all.launches;
    all.measured += firsts.later_ns(profile, each.launch.group).has_value();
    reader::add_saturated(all.bytes, each.launch.bytes);
    all.longer_ns += *longer;
    all.saving_ns += saving;
    all.lost(saving, each.stack, line_of(each.stack), each.launch.group.function);
}

/// Untimed launches are assumed to take as long for each byte.
void extend(Populated& all) {
    if (all.untimed_bytes == 0 || all.timed_bytes == 0)
        return;
    const double times = 1 + static_cast<double>(all.untimed_bytes) / static_cast<double>(all.timed_bytes);
    all.bytes = reader::saturated(static_cast<double>(all.bytes) * times);
    all.longer_ns *= times;
    all.saving_ns *= times;
}

/// Memory of which each launch makes a part, such as a pool. No launch is left that makes no pages and could be
/// compared. A fault makes one page, and the driver adds up to a granule. If that takes half of the launches'
/// time or more, it is all that they did; else they also computed.
void take_parts(Populated& all, const Profile& profile, const tables::PopulatedParts& parts,
                const LineOf& line_of) {
    const machine::Rates& rates = profile.rates();
    const auto made = [&parts](std::uint64_t each) {
        return std::min(parts.bytes, reader::saturated(parts.faults * static_cast<double>(each)));
    };
    const double least_ns = by_faults(rates, made(managed::page));
    if (parts.faults == 0 || 2 * all.longer_ns >= least_ns)
        return;
    Populated found;
    double device_ns = 0;
    for (const auto& [group, launches] : parts.launches) {
        const tables::LaunchTotals* const totals = profile.launches().find(group);
        if (totals == nullptr || totals->count == 0)
            continue;
        const double ns =
            totals->settled_ns * std::min(1.0, launches.count / static_cast<double>(totals->count));
        device_ns += ns;
        found.in_parts += launches.count;
        found.lost(ns, launches.stack, line_of(launches.stack), group.function);
    }
    found.bytes = made(managed::granule);
    found.mostly_faults = device_ns <= 2 * by_faults(rates, found.bytes);
    found.longer_ns = found.mostly_faults ? device_ns : least_ns;
    found.saving_ns = found.longer_ns - by_prefetch(rates, parts.bytes);
    if (found.saving_ns > all.saving_ns)
        all = std::move(found);
}

std::string made_text(const Populated& all) {
    const std::string bytes =
        fmt::format("{} that had not been touched, in {}", bytes_text(all.bytes), time_text(all.longer_ns));
    return all.in_parts == 0 ? "the first to use it; page faults populate " + bytes
                             : fmt::format("{} are the first to use parts of it; page faults populate {}",
                                           count_text(reader::saturated(all.in_parts), "launch"), bytes);
}

std::string basis_of(const Profile& profile, const Populated& all) {
    if (all.in_parts != 0)
        return fmt::format(
            "{}, minus a prefetch of unpopulated memory, at the rates of {}",
            all.mostly_faults ? "device time of these launches, of which such page faults make up at least half"
                              : "one page for each fault that the driver counted",
            profile.rates().whose());
    return all.measured == all.launches
               ? "device time of the first launch minus that of later launches of the same kernel, this "
                 "memory's share of it, minus a prefetch of unpopulated memory"
               : "the bytes at the rate of page faults, at most this memory's share of the first launch, minus "
                 "a prefetch of unpopulated memory, at the rates of " +
                     profile.rates().whose();
}

Confidence confidence_of(const Populated& all) {
    if (all.in_parts != 0)
        return all.mostly_faults ? Confidence::medium : Confidence::low;
    if (all.measured != all.launches)
        return Confidence::low;
    return all.untimed_bytes != 0 ? Confidence::medium : Confidence::high;
}

Finding describe_population(const ManagedMemory& memory, const Populated& all) {
    const Profile& profile = memory.profile;
    Finding finding;
    finding.rule = &uma_214;
    finding.title = finding.rule->title;
    finding.stack = all.most_stack;
    finding.allocation_stack = memory.site.made_at();
    finding.allocation_text = allocation_text(memory);
    finding.summary =
        fmt::format("launch of {}: {}", kernels_text(profile, all.kernels.at(all.most_stack)), made_text(all));
    finding.evidence = {{"timed_launches", static_cast<double>(all.launches)},
                        {"bytes", static_cast<double>(all.bytes)},
                        {"untimed_bytes", static_cast<double>(all.untimed_bytes)},
                        {"time_ns", all.longer_ns}};
    if (all.in_parts != 0)
        finding.evidence.emplace_back("launches_in_parts", all.in_parts);
    for (const auto& [line, kernels] : all.kernels)
        if (line != all.most_stack)
            finding.places.emplace_back(kernels_text(profile, kernels) + " is launched here", line);
    finding.code_edits = {{EditKind::insert_before, prefetch_to_device(memory), finding.stack}};
    finding.advice =
        fmt::format("{} on the launch's stream before the first launch; or {} if the host never uses it",
                    prefetch_to_device(memory), profile.uses_runtime() ? "cudaMalloc" : "cuMemAlloc");
    finding.saving_ns = within_recorded(profile, all.saving_ns);
    finding.edit = lighter_work(profile, {.launches = all.launched_from}, {.device_ns = all.saving_ns});
    finding.basis = basis_of(profile, all);
    finding.confidence = confidence_of(all);
    return finding;
}

} // namespace

std::vector<Finding> find_population(const Profile& profile, const LineOf& line_of) {
    if (memory_use_is_unknown(profile)) // other work may have used it before
        return {};
    const FirstLaunches firsts = first_launches_of(profile);
    struct Line {
        ManagedMemory memory;
        Populated all{};
        tables::PopulatedParts parts{};
    };
    std::map<ids::AllocationSite, Line> lines;
    for (const auto& [site, totals] : profile.allocations().sites()) {
        if (site.memory != trace::Memory::managed || site.origin != trace::Origin::program)
            continue;
        ids::AllocationSite line = site;
        line.stack = line_of(site.stack);
        auto& [memory, all, parts] = lines.try_emplace(line, Line{{profile, firsts, line}}).first->second;
        reader::add_saturated(memory.allocations, totals.count);
        reader::add_saturated(memory.bytes, totals.bytes);
        reader::add_saturated(all.untimed_bytes, totals.populated_untimed);
        for (const tables::PopulatingLaunch& each : totals.populating)
            add(all, profile, firsts, each, came_back(profile, site), line_of);
        if (stays_on_one_device(profile, site))
            parts.add(totals.parts);
    }
    std::vector<Finding> findings;
    for (auto& [line, each] : lines) {
        extend(each.all);
        take_parts(each.all, profile, each.parts, line_of);
        if (each.all.saving_ns >= least_saving_ns)
            findings.push_back(describe_population(each.memory, each.all));
    }
    return findings;
}

constinit const Rule uma_214{.id = "UMA-214",
                             .name = "population",
                             .title = "kernels are the first to touch managed memory",
                             .find = &find_population,
                             .fits = Fits::separate_memory,
                             .price = Price::rates};

} // namespace umadvisor::rules
