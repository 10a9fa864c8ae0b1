#include "analyzer/reports/stats/stats.hpp"

#include "analyzer/reader/shown_name.hpp"
#include "analyzer/reports/locked_lines.hpp"
#include "analyzer/reports/managed_lines.hpp"
#include "analyzer/symbols/demangle.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace umadvisor::reports {
namespace {

using facts::Distribution;

double percent(double part, double whole) {
    return whole > 0 ? 100 * part / whole : 0;
}

/// Rows are collected with what they are sorted by.
struct WeighedRow {
    double weight = 0;
    std::vector<text::Cell> cells; ///< the first is the share, which is known last
};

void take_rows(text::Table& table, std::vector<WeighedRow> rows) {
    double whole = 0;
    for (const WeighedRow& row : rows)
        whole += row.weight;
    std::ranges::stable_sort(rows, std::ranges::greater{}, &WeighedRow::weight);
    for (WeighedRow& row : rows) {
        row.cells.front() = percent(row.weight, whole);
        table.rows.push_back(std::move(row.cells));
    }
}

/// Median, least, greatest and standard deviation; nothing where nothing was measured.
void add_spread(std::vector<text::Cell>& cells, const Distribution& values, double scale) {
    if (values.count() == 0) {
        cells.resize(cells.size() + 4);
        return;
    }
    cells.insert(cells.end(), {values.median() * scale, static_cast<double>(values.min()) * scale,
                               static_cast<double>(values.max()) * scale, values.deviation() * scale});
}

double tick_ns(const advice::Report& report) {
    return static_cast<double>(report.trace.time.length(1'000'000)) / 1e6;
}

text::Table api_table(advice::Report& report) {
    text::Table table{"api",
                      "Calls of the CUDA API",
                      {{"time_percent", "Time (%)", 1},
                       {"total_ns", "Total Time (ns)"},
                       {"calls", "Num Calls"},
                       {"failed", "Failed"},
                       {"mean_ns", "Avg (ns)", 1},
                       {"median_ns", "Med (ns)", 1},
                       {"min_ns", "Min (ns)"},
                       {"max_ns", "Max (ns)"},
                       {"deviation_ns", "StdDev (ns)", 1},
                       {"name", "Name"}},
                      {}};
    struct Call {
        std::uint64_t count = 0, failed = 0, ns = 0;
        Distribution ticks;
    };
    std::map<std::string, Call> calls; // a runtime's call may be several of the driver's
    for (const auto& [entry, totals] : report.profile.calls()) {
        Call& call = calls[report.profile.call_name(entry)];
        call.count += totals.count;
        call.failed += totals.failed;
        call.ns += report.profile.nanoseconds(totals.time);
        const auto& measured = report.statistics->calls();
        if (const auto found = measured.find(entry); found != measured.end())
            call.ticks.add(found->second);
    }
    std::vector<WeighedRow> rows;
    for (const auto& [name, call] : calls) {
        WeighedRow row{static_cast<double>(call.ns), {text::Cell(), call.ns, call.count, call.failed}};
        row.cells.emplace_back(call.ticks.count() == call.count // not of a sum that was rounded to nanoseconds
                                   ? call.ticks.mean() * tick_ns(report)
                                   : row.weight / static_cast<double>(std::max<std::uint64_t>(1, call.count)));
        add_spread(row.cells, call.ticks, tick_ns(report));
        row.cells.emplace_back(name);
        rows.push_back(std::move(row));
    }
    take_rows(table, std::move(rows));
    return table;
}

std::string copy_name(const tables::CopyKind& kind) {
    return fmt::format("{}, {} to {}{}", name(kind.direction), name(kind.source), name(kind.destination),
                       kind.asynchronous ? ", asynchronous" : "");
}

text::Table copies_table(advice::Report& report) {
    text::Table table{"copies",
                      "Copies by direction and memory: time in the calls",
                      {{"time_percent", "Time (%)", 1},
                       {"total_ns", "Total Time (ns)"},
                       {"copies", "Count"},
                       {"bytes", "Total (B)"},
                       {"rate_bytes_per_s", "Rate (B/s)"},
                       {"mean_ns", "Avg (ns)", 1},
                       {"median_ns", "Med (ns)", 1},
                       {"min_ns", "Min (ns)"},
                       {"max_ns", "Max (ns)"},
                       {"deviation_ns", "StdDev (ns)", 1},
                       {"copy", "Copy"}},
                      {}};
    std::vector<WeighedRow> rows;
    for (const auto& [kind, copies] : report.statistics->copies()) {
        const std::uint64_t ns = report.profile.nanoseconds(copies.ticks.sum());
        WeighedRow row{static_cast<double>(ns), {text::Cell(), ns, copies.bytes.count(), copies.bytes.sum()}};
        // A call that returns before the copy is done does not show the copy's rate.
        row.cells.push_back(kind.asynchronous || ns == 0
                                ? text::Cell()
                                : text::Cell(static_cast<double>(copies.bytes.sum()) / row.weight * 1e9));
        row.cells.emplace_back(copies.ticks.mean() * tick_ns(report));
        add_spread(row.cells, copies.ticks, tick_ns(report));
        row.cells.emplace_back(copy_name(kind));
        rows.push_back(std::move(row));
    }
    take_rows(table, std::move(rows));
    return table;
}

text::Table copy_sizes_table(advice::Report& report) {
    text::Table table{"copy-sizes",
                      "Copies by direction and memory: sizes",
                      {{"bytes_percent", "Bytes (%)", 1},
                       {"bytes", "Total (B)"},
                       {"copies", "Count"},
                       {"mean_bytes", "Avg (B)", 1},
                       {"median_bytes", "Med (B)", 1},
                       {"min_bytes", "Min (B)"},
                       {"max_bytes", "Max (B)"},
                       {"deviation_bytes", "StdDev (B)", 1},
                       {"copy", "Copy"}},
                      {}};
    std::vector<WeighedRow> rows;
    for (const auto& [kind, copies] : report.statistics->copies()) {
        WeighedRow row{static_cast<double>(copies.bytes.sum()),
                       {text::Cell(), copies.bytes.sum(), copies.bytes.count(), copies.bytes.mean()}};
        add_spread(row.cells, copies.bytes, 1);
        row.cells.emplace_back(copy_name(kind));
        rows.push_back(std::move(row));
    }
    take_rows(table, std::move(rows));
    return table;
}

text::Table allocations_table(advice::Report& report) {
    text::Table table{"allocations",
                      "Allocations by memory and call",
                      {{"bytes_percent", "Bytes (%)", 1},
                       {"bytes", "Total (B)"},
                       {"allocations", "Count"},
                       {"failed", "Failed"},
                       {"mean_bytes", "Avg (B)", 1},
                       {"largest_bytes", "Largest (B)"},
                       {"live_at_end", "Live at End"},
                       {"live_bytes_at_end", "Live at End (B)"},
                       {"total_ns", "Time in Calls (ns)"},
                       {"memory", "Memory"},
                       {"name", "Name"}},
                      {}};
    std::map<std::pair<trace::Memory, std::string>, tables::AllocationTotals> kinds;
    for (const auto& [site, totals] : report.profile.allocations().sites()) {
        if (site.stack.outside())
            continue;
        tables::AllocationTotals& sum = kinds[{site.memory, report.profile.call_name(site.entry)}];
        sum.count += totals.count;
        sum.failed += totals.failed;
        sum.bytes += totals.bytes;
        sum.ticks += totals.ticks;
        sum.largest = std::max(sum.largest, totals.largest);
        sum.live += totals.live;
        sum.live_bytes += totals.live_bytes;
    }
    std::vector<WeighedRow> rows;
    for (const auto& [key, sum] : kinds) {
        const auto bytes = static_cast<double>(sum.bytes);
        const double mean = bytes / static_cast<double>(std::max<std::uint64_t>(1, sum.count));
        rows.push_back(
            {bytes,
             {text::Cell(), sum.bytes, sum.count, sum.failed, mean, sum.largest, sum.live, sum.live_bytes,
              report.profile.nanoseconds(sum.ticks), std::string(name(key.first)), key.second}});
    }
    take_rows(table, std::move(rows));
    return table;
}

text::Table page_locked_table(advice::Report& report) {
    text::Table table{"page-locked",
                      "Page-locked memory by line",
                      {{"bytes_percent", "Bytes (%)", 1},
                       {"bytes", "Total (B)"},
                       {"allocations", "Count"},
                       {"peak_bytes", "At Once (B)"},
                       {"copied_bytes", "Copied (B)"},
                       {"in_flight_bytes", "In Flight (B)"},
                       {"in_flight_count", "In Flight"},
                       {"lock_ns", "Lock Time (ns)"},
                       {"unlock_ns", "Unlock Time (ns)"},
                       {"far_bytes", "Far Node (B)"},
                       {"name", "Name"},
                       {"line", "Line"}},
                      {}};
    std::vector<WeighedRow> rows;
    for (const LockedLine& line : locked_lines(report)) {
        const tables::LockedTotals& locked = line.locked;
        rows.push_back({static_cast<double>(locked.bytes),
                        {text::Cell(), locked.bytes, locked.count, locked.peak_bytes, locked.copied_bytes,
                         line.flights ? text::Cell(line.flights->most_bytes) : text::Cell(),
                         line.flights ? text::Cell(line.flights->most_buffers) : text::Cell(),
                         report.profile.nanoseconds(locked.lock_ticks),
                         report.profile.nanoseconds(locked.unlock_ticks), locked.far_bytes,
                         report.profile.call_name(line.entry), report.symbolizer.line(line.stack).text()}});
    }
    take_rows(table, std::move(rows));
    return table;
}

text::Table kernels_table(advice::Report& report) {
    text::Table table{"kernels",
                      "Kernels by device time",
                      {{"time_percent", "Time (%)", 1},
                       {"total_ns", "Total Time (ns)"},
                       {"basis", "Basis"},
                       {"launches", "Launches"},
                       {"mean_ns", "Avg (ns)", 1},
                       {"median_ns", "Med (ns)", 1},
                       {"min_ns", "Min (ns)"},
                       {"max_ns", "Max (ns)"},
                       {"deviation_ns", "StdDev (ns)", 1},
                       {"samples", "Samples"},
                       {"name", "Name"}},
                      {}};
    struct Kernel {
        std::uint64_t launches = 0;
        double ns = 0;
        tables::Basis basis = tables::Basis::measured;
    };
    std::map<std::uint64_t, Kernel> kernels;
    for (const auto& [group, totals] : report.profile.launches().groups()) {
        if (group.outside)
            continue;
        Kernel& kernel = kernels[group.function];
        const tables::DeviceTimeEstimate estimate = report.profile.launches().estimate(totals, tick_ns(report));
        kernel.launches += totals.count;
        kernel.ns += estimate.ns;
        kernel.basis = std::max(kernel.basis, estimate.basis); // no better than the worst part of the sum
    }
    std::vector<WeighedRow> rows;
    for (const auto& [function, kernel] : kernels) {
        const auto& measured = report.statistics->kernels();
        const auto found = measured.find(function);
        const Distribution samples = found == measured.end() ? Distribution() : found->second;
        const bool known = kernel.basis != tables::Basis::unknown || kernel.ns > 0;
        const double mean_ns = kernel.ns / static_cast<double>(std::max<std::uint64_t>(1, kernel.launches));
        WeighedRow row{kernel.ns,
                       {text::Cell(), known ? text::Cell(kernel.ns) : text::Cell(),
                        std::string(name(kernel.basis)), kernel.launches,
                        known ? text::Cell(mean_ns) : text::Cell()}};
        add_spread(row.cells, samples, 1);
        row.cells.emplace_back(samples.count());
        row.cells.emplace_back(symbols::demangle(report.profile.dictionary().function_symbol(function)));
        rows.push_back(std::move(row));
    }
    take_rows(table, std::move(rows));
    return table;
}

text::Table managed_table(advice::Report& report) {
    text::Table table{"managed",
                      "Managed memory by allocating line, and in all",
                      {{"bytes_percent", "Bytes (%)", 1},
                       {"bytes_to_device", "To Device (B)"},
                       {"bytes_to_host", "To Host (B)"},
                       {"basis", "Basis"},
                       {"host_faults", "Host Faults"},
                       {"device_faults", "Device Faults"},
                       {"allocations", "Allocations"},
                       {"allocated_bytes", "Allocated (B)"},
                       {"line", "Line"}},
                      {}};
    const managed::ManagedTotals& totals = report.profile.managed().totals();
    const auto faults = [](const std::optional<std::uint64_t>& count) {
        return count ? text::Cell(*count) : text::Cell();
    };
    std::vector<WeighedRow> rows;
    std::uint64_t allocations = 0, allocated = 0;
    for (const ManagedLine& line : managed_lines(report)) {
        const std::string variable = reader::shown_name(report.trace.dictionary.string(line.site.symbol));
        rows.push_back(
            {static_cast<double>(line.moved.to_device) + static_cast<double>(line.moved.to_host),
             {text::Cell(), line.moved.to_device, line.moved.to_host, std::string(name(line.basis)),
              faults(line.host_faults), faults(line.device_faults), line.allocations, line.allocated_bytes,
              !variable.empty() ? "variable " + variable : report.symbolizer.line(line.site.stack).text()}});
        allocations += line.allocations;
        allocated += line.allocated_bytes;
    }
    take_rows(table, std::move(rows));
    if (const trace::ManagedCounters* const exact = totals.exact())
        table.rows.push_back(
            {100.0, exact->bytes_to_device, exact->bytes_to_host, std::string("counted"), exact->host_faults,
             exact->device_faults, allocations, allocated,
             std::string(totals.uncounted().empty() ? "in all, by the driver's counters"
                                                    : "in all that the driver was asked to count")});
    return table;
}

} // namespace

text::Table stats_table(advice::Report& report, std::string_view name) {
    constexpr std::array<text::Table (*)(advice::Report&), stats_tables.size()> makers{
        &api_table,         &copies_table,  &copy_sizes_table, &allocations_table,
        &page_locked_table, &kernels_table, &managed_table};
    const auto at = std::ranges::find(stats_tables, name) - stats_tables.begin();
    return makers.at(static_cast<std::size_t>(at))(report);
}

} // namespace umadvisor::reports
