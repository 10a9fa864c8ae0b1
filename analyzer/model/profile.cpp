#include "analyzer/model/profile.hpp"

#include "analyzer/model/api_names.hpp"
#include "analyzer/model/own_calls.hpp"
#include "analyzer/model/statistics.hpp"
#include "analyzer/reader/event_stream.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

namespace umadvisor::model {
namespace {

/// Writing one record on the usual path, by measurement about 50 ns with its stack found in the cache.
constexpr std::uint64_t record_price_ns = 50;

std::string_view file_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

} // namespace

Profile::Profile(reader::Trace& trace, Statistics* statistics, machine::Rates rates)
    : trace_(trace),
      rates_(std::move(rates)),
      graphs_(trace.dictionary),
      managed_(static_cast<double>(trace.time.length(1'000'000)) / 1e6,
               trace.dictionary.managed_sources.empty() ? nullptr : &trace.dictionary.managed_sources.back()),
      idle_syncs_(static_cast<double>(trace.time.length(1'000'000)) / 1e6),
      idle_gaps_(static_cast<double>(trace.time.length(1'000'000)) / 1e6),
      lifetimes_(static_cast<double>(trace.time.length(1'000'000)) / 1e6),
      through_host_(static_cast<double>(trace.time.length(1'000'000)) / 1e6),
      far_copies_(trace) {
    last_ticks_ = trace.file.header().last.ticks;
    reader::EventStream events(trace.file);
    while (const reader::ThreadCursor* cursor = events.next()) {
        observe(*cursor);
        if (statistics != nullptr)
            statistics->observe(*cursor);
    }
    managed_.finish();
    contents_.finish();
    lifetimes_.finish(last_ticks_);
    for (const reader::DroppedCalls& site : trace.dropped_calls)
        if (site.known) {
            CallTotals& totals = calls_[site.entry];
            totals.count += site.calls;
            totals.failed += site.failed;
            totals.time += {.measured = site.calls, .ticks = site.ticks};
            totals.dropped += site.calls;
        }
    replay_graphs();
}

void Profile::replay_graphs() {
    graphs_.replay([this](const GraphSite& site, const reader::GraphNode& node, std::uint64_t count) {
        if (node.kind == trace::GraphNodeKind::kernel) {
            launches_.add_replayed(group_of(node), count);
        } else if (node.kind == trace::GraphNodeKind::copy) {
            trace::Copy copy;
            copy.entry = site.entry;
            copy.stack = site.stack;
            copy.bytes = node.bytes;
            copy.source_memory = node.source;
            copy.destination_memory = node.destination;
            copy.host_range = node.host_range;
            copies_.add_replayed(copy, count);
        }
    });
}

template <class Record>
void Profile::count_call(std::uint64_t entry, const Record& record) {
    CallTotals& totals = calls_[entry];
    ++totals.count;
    totals.failed += record.status != 0;
    if constexpr (std::is_same_v<Record, trace::Launch>)
        totals.time.add(record.duration, record.stands_for);
    else // measured, be it zero
        totals.time += {.measured = 1, .ticks = record.duration};
}

void Profile::observe(const reader::ThreadCursor& cursor) {
    ++records_;
    managed_.observe(cursor.thread(), cursor.event());
    churn_.observe(cursor.event(), dictionary());
    idle_syncs_.observe(cursor.thread(), cursor.event());
    idle_gaps_.observe(cursor);
    lifetimes_.observe(cursor, dictionary());
    work_patterns_.observe(cursor.thread(), cursor.event());
    scalar_downloads_.observe(cursor.thread(), cursor.event());
    through_host_.observe(cursor.thread(), cursor.event());
    std::visit(
        [&](const auto& record) {
            using Record = std::decay_t<decltype(record)>;
            if constexpr (requires {
                              record.start;
                              record.duration;
                          })
                last_ticks_ = std::max(last_ticks_, record.start + record.duration);
            if constexpr (requires {
                              record.entry;
                              record.status;
                          }) {
                if (is_program_call(record))
                    count_call(record.entry, record);
            }
            if constexpr (requires { record.captured; }) {
                if constexpr (!std::is_same_v<Record, trace::LaunchShape>) {
                    captured_ += record.captured != 0;
                    if (record.captured != 0 && !std::is_same_v<Record, trace::GraphLaunch>)
                        return; // it did not run
                }
            }
            if constexpr (requires { waits_.add(record); })
                waits_.add(record);
            if constexpr (requires { contents_.add(record); })
                contents_.add(record);
            else if constexpr (requires { contents_.add(record, cursor.thread()); })
                contents_.add(record, cursor.thread());
            if constexpr (requires { managed_.add(record); })
                managed_.add(record);
            else if constexpr (requires { managed_.add(record, cursor.thread()); })
                managed_.add(record, cursor.thread());
            if constexpr (std::is_same_v<Record, trace::Pause>) {
                recorded_.add(record);
                last_ticks_ = std::max(last_ticks_, record.start);
            } else if constexpr (std::is_same_v<Record, trace::Alloc>) {
                allocations_.add(record);
                far_copies_.add(record);
                allocation_failures_.add(record, dictionary().symbol(record.entry));
            } else if constexpr (std::is_same_v<Record, trace::Free>) {
                allocations_.remove(record);
                far_copies_.remove(record);
                allocation_failures_.remove(record);
            } else if constexpr (std::is_same_v<Record, trace::Copy>) {
                copies_.add(record, dictionary().symbol(record.entry),
                            static_cast<double>(nanoseconds(record.duration)) * 1e-9);
                narrow_rows_.add(record, dictionary().symbol(record.entry));
                far_copies_.add(record);
            } else if constexpr (std::is_same_v<Record, trace::GraphLaunch>) {
                graphs_.add(record);
                if (record.captured == 0 && record.status == 0) {
                    launches_.graph_launched(cursor.thread());
                    for (const GraphTouch& touch : graphs_.touches(record.version)) {
                        allocations_.reach(touch.allocation, touch.group);
                        managed_.reach(touch.allocation, {touch.group.function, record.stack, record.entry},
                                       record, cursor.thread());
                    }
                }
            } else if constexpr (std::is_same_v<Record, trace::Launch>) {
                if (cursor.shape() != nullptr && cursor.shape()->captured) {
                    ++captured_;
                    count_call(cursor.shape()->entry, record);
                    return;
                }
                const Launches::Group* const group = launches_.add(cursor.thread(), record, cursor.shape());
                scalar_downloads_.launch(cursor.thread(), group);
                work_patterns_.launch(cursor.thread(), record, cursor.shape(), group);
                contents_.launch(cursor.shape());
                if (const reader::Shape* shape = cursor.shape()) {
                    count_call(shape->entry, record);
                    allocations_.launch(record, *shape);
                    if (record.status == 0)
                        managed_.launch(*shape, record.start, cursor.thread());
                }
            } else if constexpr (std::is_same_v<Record, trace::Sync>) {
                polls_.add(cursor.thread(), record);
                if (record.kind == trace::SyncKind::context || record.kind == trace::SyncKind::stream ||
                    record.kind == trace::SyncKind::event)
                    launches_.synchronized(cursor.thread(), record.duration);
            } else if constexpr (std::is_same_v<Record, trace::Residency>) {
                ++residency_samples_;
                allocations_.sample(record);
            } else if constexpr (std::is_same_v<Record, trace::DeviceTime>) {
                const std::uint64_t ns =
                    record.nanoseconds - std::min(record.nanoseconds, record.floor_nanoseconds);
                if (!graphs_.measure(record.sample, ns) && !launches_.measure(record.sample, ns))
                    copies_.measure(record.sample, ns);
                narrow_rows_.measure(record.sample, ns);
                far_copies_.measure(record.sample, ns);
                allocations_.measure(record.sample, ns);
            }
        },
        cursor.event());
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
            result.push_back({found->second.symbol, counters[id], moves_memory(found->second.symbol)});
    }
    std::stable_sort(result.begin(), result.end(),
                     [](const CountedEntry& a, const CountedEntry& b) { return a.count > b.count; });
    return result;
}

std::string Profile::program() const {
    for (const trace::Process& process : dictionary().processes)
        if (!process.executable.empty())
            return std::string(file_name(process.executable));
    return "unknown program";
}

std::string Profile::command_line() const {
    if (dictionary().processes.empty())
        return {};
    std::string line(dictionary().processes.front().command_line);
    while (!line.empty() && line.back() == '\0')
        line.pop_back();
    std::replace(line.begin(), line.end(), '\0', ' ');
    return line;
}

std::string Profile::device() const {
    std::map<std::string_view, int> names;
    for (const trace::Device& device : dictionary().devices)
        ++names[device.device_name];
    std::string result;
    for (const auto& [name, count] : names)
        result +=
            (result.empty() ? "" : ", ") + (count > 1 ? std::to_string(count) + " x " : "") + std::string(name);
    return result.empty() ? "unknown device" : result;
}

std::string Profile::call_name(std::uint64_t entry) const {
    return std::string(model::call_name(dictionary().symbol(entry), uses_runtime()));
}

std::uint64_t Profile::duration_ns() const {
    const std::uint64_t first = trace_.file.header().first.ticks;
    return last_ticks_ > first ? nanoseconds(last_ticks_ - first) : 0;
}

std::uint64_t Profile::recorded_ns() const {
    return nanoseconds(recorded_.ticks(trace_.file.header().first.ticks, last_ticks_));
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

} // namespace umadvisor::model
