/// Explicit copies between managed memory and the host, which could use the memory itself.
#include "analyzer/rules/transfers/managed_copied.hpp"

#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/unified/managed.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace umadvisor::rules {
namespace {

enum class Other : std::uint8_t { to_managed, from_managed, both_managed };

struct ManagedCopies {
    tables::Tally copies;
    EditedCalls calls;
    std::uint64_t entry = 0;
    double spent_ns = 0;
    bool known = true; ///< all of the time, by calls that waited
};

/// For calls that wait, their own duration; others are extrapolated from those sampled. 0: not known.
double time_of(const Profile& profile, const tables::CopySite& site, const tables::CopyTotals& totals) {
    const bool waits = !site.asynchronous || site.source == trace::Memory::pageable ||
                       site.destination == trace::Memory::pageable;
    if (waits)
        return static_cast<double>(profile.nanoseconds(totals.large.ticks));
    if (totals.measured_bytes == 0)
        return 0;
    return static_cast<double>(totals.measured_ns) * static_cast<double>(totals.large.bytes) /
           static_cast<double>(totals.measured_bytes);
}

using ManagedKey = std::pair<ids::StackId, Other>;

std::optional<Finding> describe_managed(const Profile& profile, const ManagedKey& key,
                                        const ManagedCopies& group) {
    const Other other = key.second;
    const auto bytes = static_cast<double>(group.copies.bytes);
    // Inside the device such a copy is right; at no more than the link's rate it was not inside.
    const double least_inside = 2 * profile.rates().pinned_to_device;
    if (other == Other::both_managed && bytes >= least_inside * group.spent_ns * 1e-9)
        return std::nullopt;
    const bool runtime = profile.uses_runtime();
    const std::string_view prefetch = runtime ? "cudaMemPrefetchAsync" : "cuMemPrefetchAsync";
    const std::string_view allocate = runtime ? "cudaMalloc" : "cuMemAlloc";
    const machine::Rates& rates = profile.rates();
    const std::string measured = ", measured on " + rates.whose();
    const double rate = other == Other::to_managed     ? rates.prefetch_to_device
                        : other == Other::from_managed ? rates.prefetch_to_host
                                                       : rates.device_to_device;
    const double instead_ns = bytes / rate * 1e9 + static_cast<double>(group.copies.count) *
                                                       (rates.prefetch_call_ns + rates.prefetch_block_ns);

    Finding finding;
    finding.title = other == Other::to_managed     ? "host memory copied to managed memory"
                    : other == Other::from_managed ? "managed memory copied to host memory"
                                                   : "managed memory copied across the link to managed memory";
    const double reached = bytes / (group.spent_ns * 1e-9);
    finding.summary = fmt::format("{}, {}, {} in all; host and device can both use managed memory directly",
                                  copies_text(profile, group.entry, bytes, group.copies.count),
                                  rate_text(reached), time_text(group.spent_ns));
    finding.evidence = {{"copies", static_cast<double>(group.copies.count)},
                        {"bytes", bytes},
                        {"time_ns", group.spent_ns},
                        {"rate_bytes_per_s", reached}};
    if (other == Other::to_managed) {
        finding.advice = fmt::format("let the host write directly into the managed memory, then "
                                     "{}(destination, bytes, {}, {}stream); or "
                                     "use {} memory and copy from pinned memory",
                                     prefetch, device_location(profile), prefetch_flags(profile), allocate);
        finding.basis = "time of these copies minus a prefetch of the same bytes to the device" + measured;
    } else if (other == Other::from_managed) {
        finding.advice = fmt::format(
            "{}(source, bytes, {}, {}stream), wait for the stream, and read the memory on the host; "
            "or use {} memory and copy to pinned memory",
            prefetch, host_location(profile), prefetch_flags(profile), allocate);
        finding.basis = "time of these copies minus a prefetch of the same bytes to the host" + measured;
    } else {
        finding.advice =
            fmt::format("{} both ends to the device before the copy, or swap pointers instead", prefetch);
        finding.basis = "time of these copies minus the same bytes copied within the device" + measured +
                        "; the prefetch is not counted where the data is needed on the device anyway";
    }
    finding.saving_ns = std::max(0.0, group.spent_ns - instead_ns);
    finding.edit = group.calls.faster(profile, group.copies.bytes, finding.saving_ns);
    // Whether the host can do without its copy is not seen.
    finding.confidence = other != Other::both_managed && group.known ? Confidence::medium : Confidence::low;
    return finding;
}

} // namespace

bool copies_managed(const tables::CopySite& site) {
    return !site.graph &&
           ((site.source == trace::Memory::managed && facts::is_host_memory(site.destination)) ||
            (facts::is_host_memory(site.source) && site.destination == trace::Memory::managed) ||
            (site.source == trace::Memory::managed && site.destination == trace::Memory::managed));
}

bool made_managed(const Profile& profile) {
    return std::ranges::any_of(profile.allocations().sites(), [](const auto& each) {
        return each.first.memory == trace::Memory::managed && each.first.origin == trace::Origin::umadvisor;
    });
}

std::vector<Finding> find_managed_copies(const Profile& profile, const LineOf& line_of) {
    // The program asked for device memory then, and its copies are right.
    if (made_managed(profile))
        return {};
    std::map<ManagedKey, ManagedCopies> groups;
    for (const auto& [site, totals] : profile.copies().sites()) {
        if (!copies_managed(site) || totals.large.count == 0)
            continue;
        const double spent_ns = time_of(profile, site, totals);
        if (spent_ns <= 0)
            continue;
        const Other other = facts::is_host_memory(site.source)        ? Other::to_managed
                            : facts::is_host_memory(site.destination) ? Other::from_managed
                                                                      : Other::both_managed;
        ManagedCopies& group = groups[{line_of(site.stack), other}];
        group.copies.add(totals.large);
        group.calls.add(site, totals.large.count);
        group.entry = site.entry;
        group.spent_ns += spent_ns;
        group.known &= !site.asynchronous;
    }
    return judge_lines(uma_105, profile, groups, describe_managed);
}

constinit const Rule uma_105{.id = "UMA-105",
                             .name = "managed-copied",
                             .title = "managed memory copied to or from the host",
                             .find = &find_managed_copies,
                             .fits = Fits::separate_memory,
                             .price = Price::rates};

} // namespace umadvisor::rules
