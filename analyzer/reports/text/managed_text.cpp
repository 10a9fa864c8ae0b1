#include "analyzer/reports/text/managed_text.hpp"

#include "analyzer/reader/shown_name.hpp"
#include "analyzer/reports/verdict_lines.hpp"
#include "analyzer/rules/words.hpp"
#include "analyzer/symbols/demangle.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

namespace umadvisor::reports {
namespace {

using managed::sum_of;
using text::count_text;

constexpr std::size_t most_lines = 5, most_movers = 3, most_summed = 3;

std::string both_ways(std::uint64_t to_device, std::uint64_t to_host) {
    return fmt::format("{} to the device, {} to the host", text::bytes_text(to_device),
                       text::bytes_text(to_host));
}

/// Empty: nothing did.
std::string between_text(const managed::ManagedTotals& totals, std::uint64_t bytes) {
    if (bytes == 0)
        return "";
    return fmt::format("{}{} between devices", totals.between_devices_is_estimated() ? ", at least " : ", ",
                       text::bytes_text(bytes));
}

std::string micros(std::uint64_t us) {
    return text::time_text(static_cast<double>(us) * 1e3);
}

void write_parameters(std::ostream& out, const trace::ManagedSource& source) {
    if (!source.driver_release.empty())
        out << "    driver " << source.driver_release;
    if (source.parameters_known == 0) {
        if (!source.driver_release.empty())
            out << "\n";
        return;
    }
    out << (source.driver_release.empty() ? "    driver: " : ": ");
    if (source.prefetch == 0)
        out << "prefetches nothing along with faults";
    else
        out << "prefetches regions that are needed by more than " << source.prefetch_threshold << "%";
    if (source.thrashing == 0)
        out << "; does not look for thrashing\n";
    else
        out << "; thrashing: from " << count_text(source.thrashing_threshold, "event") << " within "
            << micros(source.thrashing_lapse) << " each, throttled for " << micros(source.thrashing_nap)
            << ", pinned after " << count_text(source.thrashing_pin_threshold, "throttling") << " for "
            << micros(source.thrashing_pin) << ", forgotten after " << micros(source.thrashing_epoch) << "\n";
}

std::string faults_text(const managed::ManagedTotals& totals) {
    const auto text = [](const std::optional<std::uint64_t>& faults, const char* noun) {
        return faults ? count_text(*faults, noun) : fmt::format("{}s unknown", noun);
    };
    return text(totals.host_faults(), "host fault") + ", " + text(totals.device_faults(), "device fault");
}

void write_totals(std::ostream& out, const managed::ManagedActivity& managed, trace::ManagedSourceKind source) {
    const managed::ManagedTotals& totals = managed.totals();
    const managed::MovedBytes moved = totals.moved();
    out << "    in all: " << both_ways(moved.to_device, moved.to_host)
        << between_text(totals, totals.between_devices(totals.recorded().between_devices)) << "; "
        << faults_text(totals) << "\n";
    if (totals.exact() != nullptr && totals.recorded_share() < 1)
        out << (totals.recorded_share() <= 0
                    ? "    the driver reported none of these moves; they are inferred, as the brackets say\n"
                    : fmt::format("    the driver reported {:.0f}% of these bytes; the rest is inferred, as "
                                  "the brackets say\n",
                                  std::floor(totals.recorded_share() * 100)));
    if (!totals.uncounted().empty())
        out << "  ! without moves during the time in which --act relieve did not read the driver's queue\n";
    if (totals.lost() != 0)
        out << "  ! " << (source == trace::ManagedSourceKind::cupti ? "CUPTI" : "the driver") << " dropped "
            << count_text(totals.lost(), "event") << "\n";
    constexpr std::uint64_t least_part = 20; // of all: a few are of memory of the runtime's own
    if (managed.unattributed().events * least_part >
        totals.host_faults().value_or(0) + totals.device_faults().value_or(0))
        out << "    " << count_text(managed.unattributed().events, "event")
            << " at addresses of no recorded allocation, counted at no line\n";
    if (const managed::MovedBytes rest = managed.account().unassigned(); rest.any())
        out << "    " << both_ways(rest.to_device, rest.to_host) << " in memory whose allocation is unknown\n";
    if (managed.block_budget().coarser != 0)
        out << "    blocks of " << count_text(managed.block_budget().coarser, "allocation")
            << " are tracked in pieces larger than 2 MiB, to save memory\n";
}

std::string allocation_name(const advice::Report& report, const ManagedLine& line) {
    if (line.site.symbol != 0)
        return "variable " + reader::shown_name(report.profile.dictionary().string(line.site.symbol));
    return report.profile.call_name(line.site.entry) +
           (line.allocations == 0 ? "" : " " + text::bytes_text(line.allocated_bytes / line.allocations)) +
           (line.allocations > 1 ? fmt::format(" x {}", line.allocations) : "");
}

std::string basis_text(managed::MovedBasis basis) {
    switch (basis) {
    case managed::MovedBasis::counted:
        return " (counted)";
    case managed::MovedBasis::stays:
        return " (inferred: sampled residency of pages)";
    case managed::MovedBasis::at_least:
        return " (inferred: at least)";
    case managed::MovedBasis::launches:
        return " (inferred from the launches that use it)";
    case managed::MovedBasis::none:
        break;
    }
    return " (moves unknown)";
}

/// What happened to it beside moving.
std::string events_text(const advice::Report& report, const ManagedLine& line) {
    const managed::ManagedTally& recorded = line.activity.recorded;
    std::string text;
    const auto add = [&text](const std::string& part) { text += "; " + part; };
    if (const std::uint64_t faults = line.host_faults.value_or(0); faults != 0)
        add(count_text(faults, "host fault"));
    if (const std::uint64_t faults = line.device_faults.value_or(0); faults != 0)
        add(count_text(faults, "device fault"));
    if (recorded.thrashings != 0)
        add("thrashing found " + count_text(recorded.thrashings, "time"));
    if (recorded.throttlings != 0)
        add(fmt::format("throttled {} for {}", count_text(recorded.throttlings, "time"),
                        text::time_text(report.profile.nanoseconds(recorded.throttled_ticks))));
    if (const std::uint64_t bytes = recorded.to_host[static_cast<std::size_t>(trace::MigrationCause::eviction)];
        bytes != 0)
        add(text::bytes_text(bytes) + " evicted");
    if (const std::uint64_t bytes = sum_of(recorded.remote_bytes); bytes != 0)
        add(text::bytes_text(bytes) + " mapped remotely");
    if (recorded.read_duplicated_bytes != 0)
        add(text::bytes_text(recorded.read_duplicated_bytes) + " read-duplicated");
    return text;
}

std::string place_text(advice::Report& report, ids::StackId stack) {
    return stack.known() ? report.symbolizer.line(stack).text() : "an unknown place";
}

std::string amount_text(double bytes, double faults) {
    if (bytes > 0)
        return text::bytes_text(bytes);
    return count_text(reader::saturated(std::round(faults)), "fault");
}

void write_kernels(std::ostream& out, advice::Report& report, const std::vector<ManagedKernelLine>& kernels,
                   const char* what) {
    for (std::size_t i = 0; i < std::min(kernels.size(), most_movers); ++i) {
        const ManagedKernelLine& kernel = kernels[i];
        const std::string name =
            symbols::short_name(report.profile.dictionary().function_symbol(kernel.function));
        out << "        " << what << " " << (name.empty() ? "a kernel" : name) << ", launched at "
            << place_text(report, kernel.stack) << ": " << amount_text(kernel.bytes, kernel.faults)
            << (kernel.candidates ? ", one of several candidates" : "") << "\n";
    }
}

void write_verdicts(std::ostream& out, advice::Report& report, const ManagedLine& line) {
    for (const VerdictLine& each : verdict_lines(report, line)) {
        out << "      ! " << managed::title(each.kind) << ": " << each.text << "\n";
        for (const ids::StackId stack : each.totals.prefetches)
            out << "        prefetched at " << place_text(report, stack) << "\n";
    }
}

void write_movers(std::ostream& out, advice::Report& report, const ManagedLine& line) {
    write_kernels(out, report, line.kernels, "migrated to the device by");
    for (std::size_t i = 0; i < std::min(line.prefetches.size(), most_movers); ++i) {
        const ManagedPrefetchLine& each = line.prefetches[i];
        out << "        prefetched" << (each.by_umadvisor ? " by umadvisor" : "") << " at "
            << place_text(report, each.stack) << ": "
            << both_ways(reader::saturated(each.bytes_to_device), reader::saturated(each.bytes_to_host))
            << "\n";
    }
    for (std::size_t i = 0; i < std::min(line.host_lines.size(), most_movers); ++i) {
        const ManagedHostLine& each = line.host_lines[i];
        out << "        " << (each.bytes > 0 ? "migrated back" : "touched") << " by the host at "
            << place_text(report, each.code) << ": " << count_text(each.faults, "fault")
            << (each.bytes > 0 ? ", " + text::bytes_text(each.bytes) : "") << "\n";
    }
    write_kernels(out, report, line.evictors, "evicted while there ran");
}

/// A strip of time: on the device, on the host, or reached there by the device.
void write_life(std::ostream& out, const advice::Report& report, const managed::AllocationLife& life) {
    if (life.stays.size() < 2)
        return;
    constexpr std::uint64_t columns = 64;
    const std::uint64_t from = std::min(life.from, life.stays.front().begin);
    const std::uint64_t last = std::max(life.stays.back().begin, life.stays.back().end);
    const std::uint64_t until = std::max({life.until, last, from + columns});
    const std::uint64_t step = std::max<std::uint64_t>(1, (until - from) / columns);
    std::string strip(columns, ' ');
    for (const managed::Stay& stay : life.stays) {
        const std::uint64_t first = std::min((stay.begin - from) / step, columns - 1);
        const std::uint64_t end = stay.end == 0 ? until : std::max(stay.end, stay.begin);
        for (std::uint64_t i = first; i == first || (i < columns && from + i * step < end); ++i) {
            char& shown = strip[i];
            const char side = stay.on_device ? 'D' : stay.remote_launches != 0 ? 'r' : 'h';
            shown = shown == ' ' || shown == side ? side : '*';
        }
    }
    for (const managed::TimeSpan& gap : report.profile.managed().totals().uncounted())
        for (std::uint64_t i = 0; i < columns; ++i)
            if (from + i * step >= gap.begin && from + i * step < gap.end)
                strip[i] = ' ';
    out << "        where it was, over " << text::time_text(report.profile.nanoseconds(until - from)) << ": ["
        << strip << "]  h host, D device, * both in turn"
        << (strip.find('r') != std::string::npos ? ", r host, reached by the device" : "")
        << (life.left_out != 0 ? "; the middle is omitted" : "") << "\n";
}

void write_line(std::ostream& out, advice::Report& report, const ManagedLine& line) {
    out << "    " << (line.site.made_at().known() ? place_text(report, line.site.stack) + "   " : "")
        << allocation_name(report, line) << ": " << both_ways(line.moved.to_device, line.moved.to_host)
        << between_text(report.profile.managed().totals(), line.between_devices) << basis_text(line.basis)
        << events_text(report, line);
    if (line.activity.round_trips != 0)
        out << "; " << count_text(line.activity.round_trips, "round trip");
    out << "\n";
}

/// Writes what one screen has room for: totals, and the allocations that moved most.
void write_summary(advice::Report& report, std::ostream& out) {
    const managed::ManagedActivity& managed = report.profile.managed();
    if (!managed.any())
        return;
    const std::vector<ManagedLine> lines = managed_lines(report);
    out << "\nmanaged memory (details: --managed)\n";
    write_totals(out, managed, managed_source(report).source);
    for (std::size_t i = 0; i < std::min(lines.size(), most_summed); ++i)
        write_line(out, report, lines[i]);
    if (lines.size() > most_summed)
        out << "    and " << count_text(lines.size() - most_summed, "further line") << "\n";
}

} // namespace

void write_managed(advice::Report& report, std::ostream& out) {
    if (!report.all_managed)
        return write_summary(report, out);
    const managed::ManagedActivity& managed = report.profile.managed();
    if (!managed.any() && report.trace.dictionary.managed_sources.empty())
        return;
    out << "\nmanaged memory\n    from: " << managed_source_text(report) << "\n";
    write_parameters(out, managed_source(report));
    if (managed.any())
        write_totals(out, managed, managed_source(report).source);
    const std::vector<ManagedLine> lines = managed_lines(report);
    for (std::size_t i = 0; i < std::min(lines.size(), most_lines); ++i) {
        const ManagedLine& line = lines[i];
        write_line(out, report, line);
        write_verdicts(out, report, line);
        write_movers(out, report, line);
        write_life(out, report, line.activity.life);
    }
    if (lines.size() > most_lines)
        out << "    and " << count_text(lines.size() - most_lines, "further line") << "\n";
}

} // namespace umadvisor::reports
