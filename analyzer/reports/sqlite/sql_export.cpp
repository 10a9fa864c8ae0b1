#include "analyzer/reports/sqlite/sql_export.hpp"

#include "analyzer/facts/own_calls.hpp"
#include "analyzer/reader/plain.hpp"
#include "analyzer/reader/saturated.hpp"
#include "analyzer/reader/shown_name.hpp"
#include "analyzer/reports/completeness_text.hpp"
#include "analyzer/reports/html/finding_marks.hpp"
#include "analyzer/reports/managed_lines.hpp"
#include "analyzer/reports/run_walk.hpp"
#include "analyzer/reports/sqlite/sql_memory.hpp"
#include "analyzer/reports/sqlite/sql_schema.hpp"
#include "analyzer/symbols/demangle.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <unordered_map>
#include <unordered_set>
#include <variant>

namespace umadvisor::reports {
namespace {

std::string shown(std::string_view text) {
    return reader::plain(reader::shown_name(text));
}

trace::Process process_of(const advice::Report& report) {
    const auto& processes = report.trace.dictionary.processes;
    return processes.empty() ? trace::Process() : processes.front();
}

Nullable number_of(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? Nullable(number) : Nullable();
}

bool drop_end(std::string& text, std::string_view end) {
    if (end.size() <= 1 || !text.ends_with(end))
        return false;
    text.resize(text.size() - end.size());
    return true;
}

/// What the traces of one job have in common: NAME of NAME.RANK.PID.umtrace, with its folder.
std::string job_of(const advice::Report& report) {
    const std::string& path = report.trace.file.path();
    std::error_code failed;
    std::string name = std::filesystem::absolute(path, failed).lexically_normal().string();
    if (failed)
        name = path;
    drop_end(name, ".umtrace");
    drop_end(name, fmt::format(".{}", report.trace.file.header().pid));
    drop_end(name, fmt::format(".{}", process_of(report).rank));
    return reader::plain(name);
}

/// One run's rows as they are met.
class RunRows final : public RunObserver {
public:
    RunRows(Database& database, SqlExport::Rows& rows, advice::Report& report)
        : report_(report),
          rows_(rows),
          memory_(database, report, rows.runs),
          entries_(database, "entries", 4),
          functions_(database, "functions", 3),
          stacks_(database, "stacks", 8),
          calls_(database, "calls", 12),
          copies_(database, "copies", 18),
          launches_(database, "launches", 18),
          findings_(database, "findings", 21),
          ranks_(database, "ranks", 21),
          managed_lines_(database, "managed_lines", 12) {}

    void event(const reader::ThreadCursor& cursor) override {
        std::visit(
            [&](const auto& record) {
                if constexpr (requires { memory_.add(record); })
                    memory_.add(record);
            },
            cursor.event());
    }
    void call(const WalkedCall& call) override;
    void finish(const std::string& job);

private:
    void tell_copy(const WalkedCall& call, std::int64_t of);
    void tell_launch(const WalkedCall& call, std::int64_t of);
    void tell_findings();
    void add_managed_lines();
    void tell_entries();
    void tell_stack(ids::StackId stack);

    advice::Report& report_;
    SqlExport::Rows& rows_;
    SqlMemory memory_;
    Insert entries_, functions_, stacks_, calls_, copies_, launches_, findings_, ranks_, managed_lines_;
    std::unordered_set<std::uint64_t> known_entries_, known_functions_;
    std::unordered_set<ids::StackId> known_stacks_;
    std::unordered_map<std::uint32_t, std::int64_t> last_calls_; ///< by thread
    struct Totals {
        std::uint64_t calls = 0, call_ns = 0, waited_ns = 0, copies = 0, copy_ns = 0, to_device = 0,
                      to_host = 0, launches = 0, kernel_ns = 0;
    };
    Totals totals_;
};

void RunRows::tell_stack(ids::StackId stack) {
    if (!stack.known() || !known_stacks_.insert(stack).second)
        return;
    const symbols::CodePlace place = report_.symbolizer.line(stack);
    std::string frames;
    for (const advice::Report::StackLine& line : report_.whole_stack(stack))
        frames += (frames.empty() ? "" : "\n") + line.text;
    stacks_.row(rows_.runs, stack, reader::plain(place.text()), shown(place.function.view()),
                shown(place.file.view()), place.line, shown(place.module.view()),
                reader::plain(frames, trace::Plain::lines));
}

void RunRows::call(const WalkedCall& call) {
    tell_stack(call.stack);
    known_entries_.insert(call.entry);
    if (!call.part) {
        last_calls_[call.thread] = ++rows_.calls;
        calls_.row(rows_.calls, rows_.runs, call.thread, call.entry, call.stack, call.start_ns,
                   call.duration_ns, call.waited_ns, call.measured, call.status, call.bytes, call.by_umadvisor);
        if (!call.by_umadvisor) {
            ++totals_.calls;
            reader::add_saturated(totals_.call_ns, call.duration_ns);
            reader::add_saturated(totals_.waited_ns, call.waited_ns);
        }
    }
    const std::int64_t of = last_calls_[call.thread];
    if (call.copies)
        tell_copy(call, of);
    else if (call.work == WorkKind::kernel || call.work == WorkKind::graph)
        tell_launch(call, of);
}

namespace {

/// Where the device did it; nothing where it did nothing.
struct Placed {
    explicit Placed(const WalkedCall& call) {
        if (call.work == WorkKind::none)
            return;
        device = Nullable(call.place.device);
        start_ns = Nullable(call.work_start_ns);
        ns = Nullable(call.work_ns);
        measured = Nullable(call.work_measured);
    }
    Nullable device, start_ns, ns, measured;
};

} // namespace

void RunRows::tell_copy(const WalkedCall& call, std::int64_t of) {
    const Placed placed(call);
    copies_.row(++rows_.copies, of, rows_.runs, call.stack, name(call.direction), trace::name(call.source),
                trace::name(call.destination), call.source_allocation, call.destination_allocation, call.bytes,
                call.asynchronous, call.staged, call.status, placed.device, call.stream, placed.start_ns,
                placed.ns, placed.measured);
    if (call.status != 0 || call.by_umadvisor)
        return;
    ++totals_.copies;
    reader::add_saturated(totals_.copy_ns, call.duration_ns - call.waited_ns);
    const bool from_host = facts::is_host_memory(call.source),
               to_host = facts::is_host_memory(call.destination);
    if (from_host != to_host)
        reader::add_saturated(from_host ? totals_.to_device : totals_.to_host, call.bytes);
}

void RunRows::tell_launch(const WalkedCall& call, std::int64_t of) {
    const bool graph = call.work == WorkKind::graph;
    const Placed placed(call);
    if (!graph && known_functions_.insert(call.function).second) {
        const std::string name = symbols::demangle(report_.trace.dictionary.function_symbol(call.function));
        functions_.row(rows_.runs, call.function, shown(name));
    }
    launches_.row(++rows_.launches, of, rows_.runs, call.stack, graph ? Nullable() : Nullable(call.function),
                  graph, call.grid[0], call.grid[1], call.grid[2], call.block[0], call.block[1], call.block[2],
                  call.shared_bytes, placed.device, call.stream, placed.start_ns, placed.ns, placed.measured);
    ++totals_.launches;
    reader::add_saturated(totals_.kernel_ns, call.work_ns);
}

void RunRows::tell_entries() {
    for (const std::uint64_t entry : known_entries_)
        entries_.row(rows_.runs, entry, shown(report_.trace.dictionary.symbol(entry)),
                     reader::plain(report_.profile.call_name(entry)));
}

std::int64_t whole(double ns) {
    return static_cast<std::int64_t>(ns);
}

void RunRows::tell_findings() {
    const std::vector<html::FindingTime> times = html::finding_times(report_);
    std::int64_t number = 0;
    const auto tell = [&](const rules::Finding& finding) {
        const html::FindingTime& time = times[static_cast<std::size_t>(number)];
        using Round = std::optional<html::FindingTime::Round>;
        const auto begin = [](const Round& round) {
            return round ? Nullable(whole(round->begin)) : Nullable();
        };
        const auto end = [](const Round& round) { return round ? Nullable(whole(round->end)) : Nullable(); };
        tell_stack(finding.stack);
        tell_stack(finding.allocation_stack);
        const auto known = [](bool is_known, double value) {
            return is_known ? std::optional(value) : std::nullopt;
        };
        const bool open = finding.saving_at_most_ns > 0;
        findings_.row(rows_.runs, ++number, finding.rule->id, finding.rule->name, reader::plain(finding.title),
                      reader::plain(finding.summary), reader::plain(finding.advice),
                      reader::plain(finding.basis), rules::name(finding.confidence),
                      known(!finding.unpriced, finding.saving_ns), known(open, finding.saving_at_least_ns),
                      known(open, finding.saving_at_most_ns), finding.saving_bytes, finding.stack,
                      finding.allocation_stack, reader::plain(finding.allocation_text),
                      time.at > 0 ? Nullable(whole(time.at)) : Nullable(), begin(time.worst), end(time.worst),
                      begin(time.typical), end(time.typical));
    };
    std::ranges::for_each(report_.findings, tell);
    std::ranges::for_each(report_.unpriced, tell);
}

void RunRows::add_managed_lines() {
    for (const ManagedLine& line : managed_lines(report_)) {
        tell_stack(line.site.stack);
        known_entries_.insert(line.site.entry);
        managed_lines_.row(rows_.runs, line.site.stack, line.site.entry,
                           shown(report_.trace.dictionary.string(line.site.symbol)), line.allocations,
                           line.allocated_bytes, line.moved.to_device, line.moved.to_host,
                           managed::name(line.basis), line.between_devices, line.host_faults,
                           line.device_faults);
    }
}

void RunRows::finish(const std::string& job) {
    memory_.finish([this](ids::StackId stack) { tell_stack(stack); },
                   [this](std::uint64_t entry) { known_entries_.insert(entry); });
    tell_findings();
    add_managed_lines();
    tell_entries();
    const trace::Process process = process_of(report_);
    const SqlMemory::Totals& memory = memory_.totals();
    const managed::ManagedTotals& managed = report_.profile.managed().totals();
    ranks_.row(rows_.runs, job, number_of(process.rank), shown(process.host), totals_.calls, totals_.call_ns,
               totals_.waited_ns, totals_.copies, totals_.copy_ns, totals_.to_device, totals_.to_host,
               totals_.launches, totals_.kernel_ns, memory.allocations, memory.allocated_bytes,
               managed.moved().to_device, managed.moved().to_host, managed.host_faults(),
               managed.device_faults(), report_.findings.size() + report_.unpriced.size(), report_.together_ns);
}

void add_run(Database& database, const SqlExport::Rows& rows, advice::Report& report, const std::string& job,
             const std::string& user) {
    const trace::Process process = process_of(report);
    const reader::Dictionary& dictionary = report.trace.dictionary;
    const trace::Driver driver = dictionary.drivers.empty() ? trace::Driver() : dictionary.drivers.front();
    const reader::Header& header = report.trace.file.header();
    Insert(database, "runs", 21)
        .row(rows.runs, reader::plain(report.trace.file.path()), job, reader::plain(report.profile.program()),
             shown(report.profile.command_line()), shown(process.host), shown(process.rank), header.pid,
             process.parent, reader::plain(user), header.realtime_ns, report.profile.duration_ns(),
             report.profile.net_ns(), report.profile.own_ns(), reader::plain(report.profile.device()),
             driver.version, driver.simulated, !lacks_records(report.trace), report.profile.dropped(),
             report.together_ns, report.profile.replay_error());
    std::unordered_set<std::uint64_t> told;
    Insert devices(database, "devices", 9);
    for (const trace::Device& device : dictionary.devices)
        if (told.insert(device.ordinal).second)
            devices.row(rows.runs, device.ordinal, shown(device.device_name), device.memory_bytes,
                        fmt::format("{}.{}", device.compute_major, device.compute_minor), device.managed_memory,
                        device.concurrent_managed_access, device.pageable_memory_access, device.copy_engines);
    Insert prices(database, "prices", 4);
    const machine::Rates& rates = report.profile.rates();
    machine::Rates::each(rates, [&](const char* name, double value) {
        if (value > 0)
            prices.row(rows.runs, std::string_view(name), reader::plain(rates.device), value);
    });
    Insert threads(database, "threads", 3);
    for (const auto& [id, thread] : dictionary.threads)
        threads.row(rows.runs, id, shown(thread.thread_name));
}

} // namespace

SqlExport::SqlExport(const std::string& path, const std::string& name) : database_(path, name) {
    database_.run(sql_tables);
}

void SqlExport::add(advice::Report& report, const std::string& user) {
    ++rows_.runs;
    const std::string job = job_of(report);
    add_run(database_, rows_, report, job, user);
    RunRows rows(database_, rows_, report);
    walk(report, rows);
    rows.finish(job);
}

void SqlExport::finish() {
    database_.run(sql_indexes);
    database_.close();
}

} // namespace umadvisor::reports
