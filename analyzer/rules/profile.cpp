#include "analyzer/rules/profile.hpp"

#include "analyzer/reader/event_stream.hpp"
#include "analyzer/reader/saturated.hpp"
#include "analyzer/reader/shown_name.hpp"
#include "analyzer/rules/clocks.hpp"
#include "analyzer/tables/api_names.hpp"
#include "analyzer/tables/named_ranges.hpp"
#include "analyzer/tables/statistics.hpp"
#include "analyzer/text/shell_word.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <utility>

namespace umadvisor::rules {
namespace {

/// Writing one record on the usual path, by measurement about 50 ns with its stack found in the cache.
constexpr std::uint64_t record_price_ns = 50;

/// So many calls for so many bytes, and the run shows itself what page-locking memory takes on its host.
constexpr std::uint64_t enough_locks = 8, enough_locked_bytes = 64 << 20;

/// The run's own prices come before those of a calibration: one host may be twice as slow as the next.
void price_by_run(machine::Rates& rates, const tables::Allocations& allocations,
                  const reader::Timescale& time) {
    std::uint64_t calls = 0, bytes = 0, ticks = 0;
    for (const auto& [site, totals] : allocations.sites())
        if (site.memory == trace::Memory::registered && site.origin == trace::Origin::program) {
            calls += totals.count;
            reader::add_saturated(bytes, totals.bytes);
            reader::add_saturated(ticks, totals.ticks);
        }
    const double ns = static_cast<double>(time.length(ticks)) - static_cast<double>(calls) * rates.page_lock_ns;
    if (calls >= enough_locks && bytes >= enough_locked_bytes && ns > 0)
        rates.page_lock = static_cast<double>(bytes) * 1e9 / ns;
}

} // namespace

Profile::Profile(reader::Trace& trace, tables::Statistics* statistics, machine::Rates rates, double ns_per_tick)
    : trace_(trace),
      rates_(std::move(rates)),
      ranges_(std::make_unique<tables::NamedRanges>(ns_per_tick)),
      clocks_(std::make_unique<Clocks>(trace, rates_, *ranges_)),
      actions_(trace.dictionary),
      action_gains_(trace.dictionary, ns_per_tick),
      copies_(trace.dictionary, samples_),
      launches_(samples_),
      graphs_(trace.dictionary, samples_),
      allocations_(samples_),
      managed_(ns_per_tick,
               trace.dictionary.managed_sources.empty() ? nullptr : &trace.dictionary.managed_sources.back(),
               trace.dictionary),
      spinning_waits_(ns_per_tick),
      narrow_rows_(trace.dictionary, samples_),
      lifetimes_(ns_per_tick, trace.dictionary),
      noticed_allocations_(trace.dictionary.notices),
      counters_({trace, trace.dictionary, live_, samples_, ns_per_tick}) {
    last_ticks_ = trace.file.header().last.ticks;
    reader::EventStream events(trace.file, trace.choice());
    while (const reader::ThreadCursor* cursor = events.next()) {
        if (events.marks() != nullptr)
            managed_.look(events.inside());
        observe(*cursor);
        if (statistics != nullptr)
            statistics->observe(*cursor);
    }
    if (const reader::RangeMarks* const marks = events.marks())
        inside_ = {marks->entered(), marks->ticks(last_ticks_)};
    action_gains_.finish();
    accuracy_ = clocks_->finish(static_cast<double>(recorded_ns()));
    launches_.finish();
    managed_.finish();
    lifetimes_.finish(last_ticks_);
    counters_.finish();
    price_by_run(rates_, allocations_, trace.time);
    for (const reader::DroppedCalls& site : trace.dropped_calls)
        if (site.known && !inside_) { // where they were called is unknown
            CallTotals& totals = calls_[site.entry];
            totals.count += site.calls;
            totals.failed += site.failed;
            totals.time += {.measured = site.calls, .ticks = site.ticks};
            totals.dropped += site.calls;
        }
    replay_graphs();
}

Profile::~Profile() = default;

const timeline::Clock& Profile::clock() const {
    return clocks_->clock;
}

const std::map<ids::CallSite, facts::QueuedWork>& Profile::device_work() const {
    return clocks_->device_work.sites();
}

double Profile::device_ns(const std::map<ids::CallSite, std::uint64_t>& calls) const {
    double ns = 0;
    for (const auto& [site, count] : calls)
        if (const auto found = device_work().find(site);
            found != device_work().end() && found->second.calls != 0)
            ns +=
                found->second.device_ns * static_cast<double>(count) / static_cast<double>(found->second.calls);
    return ns;
}

facts::CallTimes Profile::host_times() const {
    facts::CallTimes times = clocks_->host_times.busiest();
    times.call_ns = std::max(0.0, times.call_ns - static_cast<double>(nanoseconds(context_ticks_)));
    return times;
}

void Profile::replay_graphs() {
    graphs_.replay([this](const tables::GraphSite& site, const reader::GraphNode& node, std::uint64_t count) {
        if (node.kind == trace::GraphNodeKind::kernel) {
            tables::LaunchGroup group = tables::group_of(node);
            group.outside = site.stack.outside();
            launches_.add_replayed(group, count);
        } else if (node.kind == trace::GraphNodeKind::copy) {
            trace::Copy copy;
            copy.entry = site.entry;
            copy.stack = site.stack.packed();
            copy.bytes = node.bytes;
            copy.source_memory = node.source;
            copy.destination_memory = node.destination;
            copy.host_range = node.host_range;
            copies_.add_replayed(copy, count);
        }
    });
}

std::vector<CountedEntry> Profile::counted() const {
    std::vector<CountedEntry> result;
    const auto& counters = trace_.file.header().counters;
    for (std::size_t id = 0; id < counters.size(); ++id) {
        if (counters[id] == 0)
            continue;
        const auto found = dictionary().entries.find(id);
        if (found == dictionary().entries.end())
            result.push_back({"unknown", counters[id], false});
        else if (found->second.recorded == 0)
            result.push_back({found->second.symbol, counters[id], tables::moves_memory(found->second.symbol)});
    }
    std::stable_sort(result.begin(), result.end(),
                     [](const CountedEntry& a, const CountedEntry& b) { return a.count > b.count; });
    return result;
}

bool Profile::uses_old_toolkit() const {
    constexpr std::uint64_t first_with_locations = 13'000;
    std::uint64_t asked = 0;
    for (const trace::Runtime& runtime : trace_.dictionary.runtimes)
        asked = std::max(asked, runtime.asked);
    return asked != 0 && asked < first_with_locations;
}

std::string Profile::program() const {
    for (const trace::Process& process : dictionary().processes)
        if (!process.executable.empty())
            return text::program_name(process.executable, process.command_line);
    return "unknown program";
}

std::string Profile::command_line() const {
    return dictionary().processes.empty() ? "" : text::shell_words(dictionary().processes.front().command_line);
}

namespace {

std::string joined(const std::map<std::string, int>& devices, std::string_view separator) {
    std::string result;
    for (const auto& [name, count] : devices)
        result += (result.empty() ? "" : std::string(separator)) +
                  (count > 1 ? fmt::format("{} x ", count) : "") + name;
    return result.empty() ? "unknown device" : result;
}

} // namespace

std::string Profile::device() const {
    std::map<std::string, int> names;
    for (const trace::Device& device : dictionary().devices)
        ++names[std::string(device.device_name)];
    return joined(names, ", ");
}

std::string Profile::devices_with_modes() const {
    std::map<std::string, int> devices;
    for (const trace::Device& device : dictionary().devices)
        ++devices[fmt::format("{}, {}", device.device_name, machine::text(memory_mode(device)))];
    return joined(devices, "; ");
}

machine::MemoryMode Profile::memory_mode(const trace::Device& device) const {
    const auto& drivers = dictionary().drivers;
    return machine::memory_mode(device, drivers.empty() ? nullptr : &drivers.front());
}

std::string Profile::call_name(std::uint64_t entry) const {
    return reader::shown_name(tables::call_name(dictionary().symbol(entry), uses_runtime()));
}

std::uint64_t Profile::duration_ns() const {
    const std::uint64_t first = trace_.file.header().first.ticks;
    return last_ticks_ > first ? nanoseconds(last_ticks_ - first) : 0;
}

std::uint64_t Profile::recorded_ns() const {
    return nanoseconds(recorded_.ticks(trace_.file.header().first.ticks, last_ticks_));
}

std::uint64_t Profile::net_ns() const {
    const std::uint64_t recorded = inside_ ? nanoseconds(inside_->ticks) : recorded_ns();
    return recorded - std::min(recorded, nanoseconds(context_ticks_));
}

double Profile::replay_error() const {
    return net_ns() == 0 ? 0 : replay_accuracy().error_ns / static_cast<double>(net_ns());
}

std::uint64_t Profile::dropped() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : trace_.file.header().dropped)
        sum += count;
    return sum;
}

std::uint64_t Profile::own_ns() const {
    return nanoseconds(trace_.file.header().own_ticks) + records_ * record_price_ns;
}

} // namespace umadvisor::rules
