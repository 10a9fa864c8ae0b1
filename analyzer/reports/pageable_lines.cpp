#include "analyzer/reports/pageable_lines.hpp"

#include "analyzer/rules/unified/pageable_uses.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <map>
#include <ostream>
#include <utility>

namespace umadvisor::reports {
namespace {

/// Smaller pieces hold flags, parameters and results.
constexpr std::uint64_t least_shown_bytes = 1024 * 1024;
constexpr std::size_t most_shown = 3; ///< without --all

constexpr double least_disk_share = 0.01; ///< of the run

} // namespace

std::vector<PageableLine> pageable_lines(advice::Report& report) {
    const auto& ranges = report.trace.dictionary.host_ranges;
    std::map<std::pair<ids::StackId, std::uint64_t>, PageableLine> by_line; ///< and range
    for (const auto& [use, totals] : report.profile.counted<rules::PageableUses>().launches()) {
        const auto range = ranges.find(use.host_range);
        if (range == ranges.end()) // its record is lost
            continue;
        const ids::StackId stack = report.symbolizer.line_stack(use.call.stack);
        PageableLine& line = by_line[{stack, use.host_range}];
        line.stack = stack;
        line.function = totals.function;
        line.launches += totals.count;
        line.bytes = range->second.last - range->second.first;
        line.kind = range->second.kind;
    }
    std::vector<PageableLine> lines;
    for (const auto& [key, line] : by_line)
        lines.push_back(line);
    std::ranges::stable_sort(lines, std::ranges::greater{},
                             [](const PageableLine& line) { return std::pair(line.bytes, line.launches); });
    return lines;
}

void write_pageable(std::ostream& out, advice::Report& report) {
    std::vector<PageableLine> lines = pageable_lines(report);
    std::erase_if(lines, [](const PageableLine& line) { return line.bytes < least_shown_bytes; });
    if (lines.empty())
        return;
    out << "  - kernels may reach pageable memory (how much of it they read is not recorded):\n";
    const std::size_t shown = report.all ? lines.size() : std::min(lines.size(), most_shown);
    for (std::size_t i = 0; i < shown; ++i) {
        const PageableLine& line = lines[i];
        out << "      " << text::bytes_text(line.bytes) << " (" << name(line.kind) << ") by "
            << text::count_text(line.launches, "launch") << " of "
            << rules::kernels_text(report.profile, {line.function}) << "   "
            << (line.stack.known() ? report.symbolizer.line(line.stack).text() : "no stack recorded") << "\n";
    }
    if (shown < lines.size())
        out << "      and " << lines.size() - shown << " more (--all)\n";
}

void write_disk_copies(std::ostream& out, advice::Report& report) {
    tables::Tally all;
    std::map<ids::StackId, double> by_line; ///< ns
    for (const auto& [site, totals] : report.profile.copies().sites()) {
        if (totals.from_disk.count == 0 || site.stack.outside())
            continue;
        all.add(totals.from_disk);
        const double ns = totals.large.own_ns_of(totals.from_disk);
        all.own_ns += ns;
        by_line[report.symbolizer.line_stack(site.stack)] += ns;
    }
    if (all.count == 0 || all.own_ns < least_disk_share * static_cast<double>(report.profile.net_ns()))
        return;
    const auto most = std::ranges::max_element(by_line, {}, [](const auto& line) { return line.second; });
    out << fmt::format(
        "  - {} from mapped files waited for pages from the disk: {} in {}{}; page-locking does not "
        "avoid that: read ahead in another thread (MADV_WILLNEED), map with MAP_POPULATE, or use "
        "GPUDirect Storage\n",
        text::count_text(all.count, "copy"), text::bytes_text(all.bytes), text::time_text(all.own_ns),
        most->first.known() ? fmt::format(", most at {}", report.symbolizer.line(most->first).text()) : "");
}

} // namespace umadvisor::reports
