#include "analyzer/rules/transfer_fates.hpp"

#include "analyzer/rules/python/python_statements.hpp"
#include "analyzer/rules/unknown_work.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <limits>

namespace umadvisor::rules {
namespace {

using trace::Memory;

/// Samples of small copies say little of large ones. Pinned memory takes no longer than large copies of it took
/// in this trace, and what each copy takes besides.
double longest_ns(const Profile& profile, const tables::CopySite& site, const tables::Tally& transfers) {
    const auto [bytes, seconds] = profile.copies().link(facts::Direction::HtoD);
    if (bytes == 0 || (site.source != Memory::pinned && site.source != Memory::registered))
        return std::numeric_limits<double>::infinity();
    return static_cast<double>(transfers.count) * profile.rates().small_copy_ns +
           static_cast<double>(transfers.bytes) * seconds * 1e9 / static_cast<double>(bytes);
}

struct Spent {
    double ns;
    bool measured;
};

/// For a call that waits, its own duration; for others the device time, where samples were taken.
Spent spent_on(const Profile& profile, const tables::CopySite& site, const tables::Tally& transfers) {
    double call_ns = static_cast<double>(profile.nanoseconds(transfers.ticks));
    if (const auto found = profile.copies().sites().find(site); found != profile.copies().sites().end()) {
        const tables::Tally& all = transfers.bytes < tables::small_copy_bytes * transfers.count
                                       ? found->second.small
                                       : found->second.large;
        if (all.ticks != 0)
            call_ns = all.own_ns_of(transfers);
    }
    const auto bytes = static_cast<double>(transfers.bytes);
    const bool link = facts::is_host_memory(site.source) || facts::is_host_memory(site.destination);
    if (link && (!site.asynchronous || site.source == Memory::pageable || site.destination == Memory::pageable))
        return {call_ns, true};
    if (const auto found = profile.copies().sites().find(site);
        found != profile.copies().sites().end() && found->second.measured_bytes != 0) {
        const double rate =
            static_cast<double>(found->second.measured_ns) / static_cast<double>(found->second.measured_bytes);
        return {std::max(call_ns, std::min(bytes * rate, longest_ns(profile, site, transfers))), true};
    }
    const double rate = link                             ? profile.rates().pinned_to_device
                        : site.source == Memory::unknown ? profile.rates().memory_set
                                                         : profile.rates().device_to_device;
    return {std::max(call_ns, bytes / rate * 1e9), false};
}

/// Kernels write what has a surface.
bool makes_surfaces(const Profile& profile) {
    return std::ranges::any_of(profile.counted(), [](const CountedEntry& entry) {
        return entry.count != 0 && entry.symbol.starts_with("cuSurf");
    });
}

} // namespace

bool fates_are_known(const Profile& profile) {
    return !work_is_unknown(profile) && std::ranges::none_of(profile.counted(), &CountedEntry::moves_memory);
}

std::map<ids::CallSite, std::uint64_t> needless_uploads(const Profile& profile) {
    std::map<ids::CallSite, std::uint64_t> counts;
    const bool surfaces = makes_surfaces(profile);
    if (fates_are_known(profile))
        for (const auto& [site, totals] : profile.counted<DeviceContents>().sites())
            if (facts::is_host_memory(site.copy.source) && !site.copy.graph && totals.agreed() &&
                !(surfaces && site.copy.destination == Memory::array))
                counts[site.copy] += totals.reported(site.fate).count;
    return counts;
}

std::map<ids::StackId, FateGroup> transfers_of_fate(const Profile& profile, Fate fate, const LineOf& line_of) {
    std::map<ids::StackId, FateGroup> groups;
    if (!fates_are_known(profile))
        return groups;
    const bool surfaces = makes_surfaces(profile);
    const std::map<ids::CallSite, Fills> fills = fills_before_uploads(profile);
    for (const auto& [site, totals] : profile.counted<DeviceContents>().sites()) {
        if (surfaces && site.copy.destination == Memory::array)
            continue;
        const tables::Tally reported = totals.reported(fate);
        if (site.fate != fate || reported.count == 0)
            continue;
        const Spent spent = spent_on(profile, site.copy, reported);
        FateGroup& group = groups[line_of(site.copy.stack)];
        group.transfers.add(reported);
        if (!site.copy.graph)
            group.calls.add(site.copy, reported.count);
        const std::uint64_t not_looked_at = totals.counted_as_alike(fate).count;
        if (const auto filled = fills.find(site.copy);
            filled != fills.end() && !site.copy.graph && totals.agreed()) {
            const PythonSite& upload = *profile.counted<Statements>().find(site.copy);
            const double share = static_cast<double>(reported.count) / static_cast<double>(upload.count);
            group.fill_ns += std::min(share, 1.0) * filled->second.ns;
            group.calls.add_time_before(site.copy, std::min(share, 1.0) * filled->second.ns);
        }
        group.not_looked_at += not_looked_at;
        group.in_part +=
            reported.count - not_looked_at - std::min(reported.count - not_looked_at, totals.seen.count);
        group.places += totals.places;
        group.wholes += std::min(reported.count - not_looked_at, totals.seen.count);
        group.freed += totals.freed;
        group.spent_ns += spent.ns;
        group.measured &= spent.measured;
        group.entry = site.copy.entry;
        group.last = totals;
        group.on_host = facts::is_host_memory(site.copy.source);
    }
    return groups;
}

Finding begin_finding(const Profile& profile, const FateGroup& group) {
    Finding finding;
    finding.evidence = {{"transfers", static_cast<double>(group.transfers.count)},
                        {"bytes", static_cast<double>(group.transfers.bytes)},
                        {"time_ns", group.spent_ns}};
    if (group.not_looked_at != 0) {
        finding.evidence.emplace_back("not_looked_at", static_cast<double>(group.not_looked_at));
        finding.details.push_back(
            fmt::format("{} of them were not compared, to save time, and are assumed to be like the others",
                        group.not_looked_at));
    }
    if (group.wholes < group.in_part && group.places != 0) {
        finding.evidence.emplace_back("places", static_cast<double>(group.places));
        // The places are evenly spread. With a probability of 95%, less than 3 / n differs where n places are
        // equal.
        finding.details.push_back(fmt::format(
            "{}compared {}by samples, 1 KiB each and {} more places, without a difference: very likely "
            "less than {} of the bytes differ",
            group.not_looked_at == 0 ? "" : "the rest: ",
            group.wholes == 0 ? "" : fmt::format("{} in full, the others ", group.wholes), group.places,
            percent_text(3 / static_cast<double>(group.places))));
    }
    finding.allocation_stack = group.last.allocation_stack;
    if (group.last.allocation_entry != 0)
        finding.allocation_text =
            profile.call_name(group.last.allocation_entry) + " " + bytes_text(group.last.allocation_bytes);
    finding.saving_ns = group.spent_ns + group.fill_ns;
    if (group.fill_ns > 0) {
        finding.statement_ns = finding.saving_ns;
        finding.evidence.emplace_back("fill_ns", group.fill_ns);
        finding.details.push_back(fmt::format(
            "before them the host copies the bytes to page-locked memory, {}, which is saved as well",
            time_text(group.fill_ns)));
    }
    finding.edit = group.calls.gone(profile);
    finding.basis = basis_of(profile, group);
    return finding;
}

std::string transfers_text(const Profile& profile, std::uint64_t entry, const tables::Tally& transfers) {
    return copies_text(profile, entry, static_cast<double>(transfers.bytes), transfers.count);
}

std::string basis_of(const Profile& profile, const FateGroup& group) {
    return group.measured
               ? std::string(
                     "time of these transfers: of the calls where they block, else on the device (sampled)")
               : "these transfers at the prices of calls and bytes measured on " + profile.rates().whose();
}

} // namespace umadvisor::rules
