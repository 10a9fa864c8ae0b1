#include "analyzer/reports/managed_lines.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace umadvisor::reports {
namespace {

/// Factors from what was recorded to all that happened.
struct ManagedScale {
    double to_device = 1, to_host = 1;
    double pulled = 1; ///< by kernels, from another device, too
    double device_faults = 1;
};

double ratio(std::uint64_t whole, std::uint64_t part) {
    return part == 0 ? 1 : static_cast<double>(whole) / static_cast<double>(part);
}

ids::StackId line_stack(advice::Report& report, ids::StackId stack) {
    return stack.known() ? report.symbolizer.line_stack(stack) : stack;
}

std::vector<ManagedKernelLine> kernel_lines(advice::Report& report, const managed::KernelShares& shares,
                                            double scale, double faults_scale) {
    std::map<std::pair<std::uint64_t, ids::StackId>, managed::MoverShare> lines;
    managed::MoverShare whole = shares.others;
    whole.add(shares.nobody);
    for (const auto& [site, share] : shares.sites) {
        const ids::StackId stack = line_stack(report, site.stack);
        lines[{site.function, stack}].add(share);
        whole.add(share);
    }
    std::vector<ManagedKernelLine> list;
    for (const auto& [key, share] : lines) {
        const double part = whole.bytes > 0    ? share.bytes / whole.bytes
                            : whole.faults > 0 ? share.faults / whole.faults
                                               : 0;
        list.push_back(
            {key.first, key.second, part, share.bytes * scale, share.faults * faults_scale, share.shared > 0});
    }
    std::ranges::stable_sort(list, [](const ManagedKernelLine& a, const ManagedKernelLine& b) {
        return std::pair(a.bytes, a.faults) > std::pair(b.bytes, b.faults);
    });
    return list;
}

/// The host lines whose page faults moved memory. `moved`: all bytes that came back to the host; those that no
/// prefetch and no eviction moved came by faults. Bytes without a record are distributed like the recorded
/// ones.
std::vector<ManagedHostLine> host_lines(advice::Report& report, const managed::ManagedSiteActivity& activity,
                                        std::uint64_t moved) {
    double by_faults = 0, others = 0;
    for (const auto& [code, access] : activity.host_codes)
        by_faults += static_cast<double>(access.bytes);
    for (const auto& [site, each] : activity.prefetches)
        others += static_cast<double>(each.to_host);
    for (const auto& [site, share] : activity.evictors.sites)
        others += share.bytes;
    const double whole = by_faults + others;
    const double scale = whole > 0 ? static_cast<double>(moved) / whole : 1;
    std::map<ids::StackId, ManagedHostLine> lines;
    for (const auto& [code, access] : activity.host_codes) {
        const ids::StackId stands_for = line_stack(report, ids::StackId(code));
        ManagedHostLine& line = lines[stands_for];
        line.code = stands_for;
        reader::add_saturated(line.faults, access.faults);
        line.bytes += static_cast<double>(access.bytes) * scale;
    }
    std::vector<ManagedHostLine> list;
    for (const auto& [code, line] : lines)
        list.push_back(line);
    std::ranges::stable_sort(list, [](const ManagedHostLine& a, const ManagedHostLine& b) {
        return std::pair(a.bytes, a.faults) > std::pair(b.bytes, b.faults);
    });
    return list;
}

std::vector<ManagedPrefetchLine> prefetch_lines(advice::Report& report,
                                                const managed::ManagedSiteActivity& activity,
                                                const ManagedScale& scale) {
    std::map<std::tuple<ids::StackId, std::uint64_t, bool>, ManagedPrefetchLine> lines;
    for (const auto& [site, moved] : activity.prefetches) {
        const ids::StackId stack = line_stack(report, site.stack);
        ManagedPrefetchLine& line = lines[{stack, site.entry, site.by_umadvisor}];
        line.stack = stack;
        line.entry = site.entry;
        line.by_umadvisor = site.by_umadvisor;
        line.bytes_to_device += static_cast<double>(moved.to_device) * scale.to_device;
        line.bytes_to_host += static_cast<double>(moved.to_host) * scale.to_host;
    }
    std::vector<ManagedPrefetchLine> list;
    for (const auto& [key, line] : lines)
        list.push_back(line);
    std::ranges::stable_sort(list, std::ranges::greater{}, [](const ManagedPrefetchLine& line) {
        return line.bytes_to_device + line.bytes_to_host;
    });
    return list;
}

} // namespace

std::vector<ManagedLine> managed_lines(advice::Report& report) {
    const managed::ManagedActivity& managed = report.profile.managed();
    std::map<ids::AllocationSite, ManagedLine> by_line;
    for (const auto& [site, activity] : managed.sites()) {
        if (activity.empty())
            continue;
        ids::AllocationSite key = site;
        key.stack = line_stack(report, site.stack);
        ManagedLine& line = by_line[key];
        line.site = key;
        line.activity.add(activity);
        const auto& totals = report.profile.allocations().sites();
        if (const auto found = totals.find(site); found != totals.end()) {
            reader::add_saturated(line.allocations, found->second.count);
            reader::add_saturated(line.allocated_bytes, found->second.bytes);
        }
    }
    const managed::Account account = managed.account();
    std::vector<ManagedLine> lines;
    for (auto& [key, line] : by_line) {
        const managed::ManagedSiteActivity& activity = line.activity;
        line.moved = account.moved(activity);
        line.basis = account.basis(activity);
        line.between_devices = account.between_devices(activity);
        line.host_faults = account.host_faults(activity);
        line.device_faults = account.device_faults(activity);
        managed::MovedBytes known = moved_of(activity.recorded);
        known.add(activity.shares.alone);
        const ManagedScale scale{
            ratio(line.moved.to_device, known.to_device), ratio(line.moved.to_host, known.to_host),
            ratio(reader::saturated_sum(line.moved.to_device, line.between_devices),
                  reader::saturated_sum(known.to_device, activity.recorded.between_devices)),
            managed.totals().device_faults_each()};
        line.kernels = kernel_lines(report, activity.kernels, scale.pulled, scale.device_faults);
        line.evictors = kernel_lines(report, activity.evictors, scale.to_host, 1);
        line.host_lines = host_lines(report, activity, line.moved.to_host);
        line.prefetches = prefetch_lines(report, activity, scale);
        lines.push_back(std::move(line));
    }
    std::ranges::stable_sort(lines, std::ranges::greater{}, [](const ManagedLine& line) {
        return std::pair(reader::saturated_sum(reader::saturated_sum(line.moved.to_device, line.moved.to_host),
                                               line.between_devices),
                         line.activity.recorded.events);
    });
    return lines;
}

trace::ManagedSource managed_source(const advice::Report& report) {
    const auto& sources = report.trace.dictionary.managed_sources;
    return sources.empty() ? trace::ManagedSource{} : sources.back();
}

std::string_view managed_source_name(trace::ManagedSourceKind source) {
    constexpr std::array<std::string_view, 4> names{"none", "pagemap", "queue", "cupti"};
    const auto number = static_cast<std::size_t>(source);
    return number < names.size() ? names[number] : "unknown";
}

std::string managed_source_text(const advice::Report& report) {
    const managed::ManagedTotals& totals = report.profile.managed().totals();
    const trace::ManagedSource source = managed_source(report);
    std::string text;
    switch (source.source) {
    case trace::ManagedSourceKind::none:
        text = "nothing reports what happens to it";
        break;
    case trace::ManagedSourceKind::pagemap:
        text = "the host's page table, sampled around launches and synchronisations: no faults, no causes, and "
               "no moves in between";
        break;
    case trace::ManagedSourceKind::queue:
        text = "the driver's own events and totals";
        if (!totals.records(trace::ManagedEventKind::migration) &&
            !totals.ever_recorded(trace::ManagedEventKind::migration))
            text += ", without single moves";
        text += ": they do not identify the kernel; the kernels named ran at that time";
        break;
    case trace::ManagedSourceKind::cupti:
        text = "CUPTI's unified-memory counters: totals are the sums of its records; it does not report the "
               "host's faulting thread, read duplication or the kernel; the kernels named ran at that time";
        break;
    default:
        text = "a source newer than this version";
    }
    if (!source.trouble.empty())
        text += fmt::format(" ({})", source.trouble);
    return text;
}

} // namespace umadvisor::reports
