#include "analyzer/reports/locked_lines.hpp"

#include "analyzer/machine/recorded_rates.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <ostream>

namespace umadvisor::reports {
namespace {

using text::bytes_text;
using text::time_text;

/// Less is no burden for a host.
constexpr std::uint64_t least_shown_bytes = 1024 * 1024;

std::string flights_text(const LockedLine& line) {
    if (!line.flights)
        return "; the calls do not show how much was in flight at once";
    if (line.flights->copies == 0)
        return "";
    return fmt::format("; {}{} of {} in flight at once", line.locked.unknown ? "at least " : "",
                       bytes_text(line.flights->most_bytes),
                       text::count_text(line.flights->most_buffers, "allocation"));
}

std::string limits_text(const advice::Report& report) {
    const auto [locked, memory] = rules::lock_limits(report.profile);
    return (locked ? fmt::format("; RLIMIT_MEMLOCK is {}", bytes_text(*locked)) : "") +
           (memory
                ? fmt::format("; the memory limit of the process's control groups is {}", bytes_text(*memory))
                : "");
}

/// Page-locking is slow that takes so many times the price of making the pages and locking them.
constexpr double slow_times = 4;
constexpr double least_slow_ns = 100e6;
constexpr double call_bytes = 1024 * 1024; ///< in smaller pieces it is the calls that cost

/// Whether the pages were there before is not recorded, so the price is that of pages which the call makes.
std::string slow_text(const advice::Report& report, const tables::LockedTotals& locked) {
    const machine::Rates& own = report.profile.rates();
    const machine::Rates usual = machine::recorded_rates(report.profile.dictionary());
    const auto bytes = static_cast<double>(locked.bytes), count = static_cast<double>(locked.count);
    const double ns = static_cast<double>(report.profile.nanoseconds(locked.lock_ticks)),
                 price =
                     count * own.page_lock_ns +
                     1e9 * bytes * (1 / own.host_first_touch + 1 / std::max(own.page_lock, usual.page_lock));
    if (ns < least_slow_ns || ns < slow_times * price)
        return "";
    return fmt::format("; locking took {:.0f} times as long as at the rates of {}: {}", ns / price, own.whose(),
                       bytes < count * call_bytes
                           ? "one call for many of these pieces takes less"
                           : "huge pages (MADV_HUGEPAGE) help, and several threads that touch them before "
                             "page-locking them");
}

std::string line_text(advice::Report& report, const LockedLine& line) {
    const tables::LockedTotals& locked = line.locked;
    return fmt::format(
        "{}   {}, {} at once; {} copied{}{}; {} to lock, {} to unlock{}{}",
        line.stack.known() ? report.symbolizer.line(line.stack).text() : "no stack recorded",
        rules::allocations_text(report.profile, line.entry, static_cast<double>(locked.bytes), locked.count),
        bytes_text(locked.peak_bytes), bytes_text(locked.copied_bytes),
        locked.by_kernels ? ", and reached by kernels" : "", flights_text(line),
        time_text(report.profile.nanoseconds(locked.lock_ticks)),
        time_text(report.profile.nanoseconds(locked.unlock_ticks)), slow_text(report, locked),
        locked.far_bytes == 0 ? ""
                              : fmt::format("; {} on NUMA node {}, which is not the device's",
                                            bytes_text(locked.far_bytes), locked.far_node - 1));
}

} // namespace

std::vector<LockedLine> locked_lines(advice::Report& report) {
    std::vector<LockedLine> lines;
    for (const auto& [key, line] : rules::locked_lines(
             report.profile, [&](ids::StackId stack) { return report.symbolizer.line_stack(stack); }))
        lines.push_back({line, key.first, key.second});
    std::ranges::stable_sort(lines, std::ranges::greater{},
                             [](const LockedLine& line) { return line.locked.peak_bytes; });
    return lines;
}

void write_locked(std::ostream& out, advice::Report& report) {
    const tables::LockedTotals& all = report.profile.lifetimes().locked();
    if (all.peak_bytes < least_shown_bytes)
        return;
    out << fmt::format("  - page-locked memory: {} at once, {} to lock and unlock it{}\n",
                       bytes_text(all.peak_bytes),
                       time_text(report.profile.nanoseconds(all.lock_ticks + all.unlock_ticks)),
                       report.all ? limits_text(report) + ":" : " (--all: by line)");
    if (report.all)
        for (const LockedLine& line : locked_lines(report))
            out << "      " << line_text(report, line) << "\n";
}

} // namespace umadvisor::reports
