#include "analyzer/reports/perfetto/perfetto.hpp"

#include "analyzer/reports/html/finding_marks.hpp"

#include "analyzer/reports/perfetto/perfetto_memory.hpp"
#include "analyzer/reports/perfetto/perfetto_ranges.hpp"
#include "analyzer/reports/perfetto/perfetto_run.hpp"
#include "analyzer/reports/run_walk.hpp"
#include "analyzer/rules/words.hpp"
#include "analyzer/symbols/demangle.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

namespace umadvisor::reports {
namespace {

using namespace perfetto;

std::string dimensions(const std::array<std::uint64_t, 3>& size) {
    return fmt::format("{}x{}x{}", size[0], size[1], size[2]);
}

class RunTracks final : public RunObserver {
public:
    explicit RunTracks(Run& run)
        : run_(run), ranges_(run), memory_(run, [this](std::uint64_t ordinal) { return device(ordinal); }) {}

    void event(const reader::ThreadCursor& cursor) override;
    void call(const WalkedCall& call) override;
    void finish();

private:
    /// Of the device, context, stream, and where it is the thread's own default stream, thread.
    using StreamKey = std::tuple<std::uint64_t, std::uint64_t, trace::StreamId, std::uint32_t>;

    SliceTrack& thread(std::uint32_t number);
    SliceTrack& stream(const WalkedCall& call);
    std::string stream_name(const WalkedCall& call);
    std::uint64_t device(std::uint64_t ordinal);
    void tell_work(const WalkedCall& call, std::uint64_t flow);
    std::string_view work_name(const WalkedCall& call);
    const std::string& call_name(std::uint64_t entry);
    const std::string& kernel_name(std::uint64_t function);
    void add_findings();

    Run& run_;
    RangeTracks ranges_;
    MemoryTracks memory_;
    std::map<std::uint32_t, std::unique_ptr<SliceTrack>> threads_;
    std::map<StreamKey, std::unique_ptr<SliceTrack>> streams_;
    std::map<trace::StreamId, std::uint64_t> stream_numbers_; ///< by handle
    std::map<std::uint64_t, std::unique_ptr<Track>> devices_;
    std::unordered_map<std::uint64_t, std::string> call_names_, kernel_names_;
    std::int64_t end_ = 0;
    std::string copy_name_;
    std::vector<Argument> arguments_;
};

SliceTrack& RunTracks::thread(std::uint32_t number) {
    std::unique_ptr<SliceTrack>& track = threads_[number];
    if (!track) {
        const auto& threads = run_.trace().dictionary.threads;
        const auto known = threads.find(number);
        const std::string name = known == threads.end() || known->second.thread_name.empty()
                                     ? fmt::format("thread {}", number)
                                     : std::string(known->second.thread_name);
        track = run_.slices({.name = name, .pid = run_.pid(), .tid = run_.tid(number)});
    }
    return *track;
}

std::uint64_t RunTracks::device(std::uint64_t ordinal) {
    if (!has_room(devices_, ordinal))
        ordinal = devices_.begin()->first;
    std::unique_ptr<Track>& track = devices_[ordinal];
    if (!track) {
        std::string name = fmt::format("device {}", ordinal);
        for (const trace::Device& known : run_.trace().dictionary.devices)
            if (known.ordinal == ordinal)
                name += fmt::format(": {}", known.device_name);
        track = run_.track({.name = name, .parent = run_.process()});
    }
    return track->uuid();
}

std::string RunTracks::stream_name(const WalkedCall& call) {
    if (call.stream == facts::legacy_stream || call.stream == facts::other_legacy_stream)
        return "default stream";
    if (call.stream == facts::stream_of_the_thread)
        return fmt::format("default stream of thread {}", call.thread);
    const auto [known, fresh] = stream_numbers_.try_emplace(call.stream, stream_numbers_.size() + 1);
    return fmt::format("stream {}", known->second);
}

SliceTrack& RunTracks::stream(const WalkedCall& call) {
    const bool legacy = call.stream == facts::other_legacy_stream;
    StreamKey key{call.place.device, call.place.context, legacy ? facts::legacy_stream : call.stream,
                  call.stream == facts::stream_of_the_thread ? call.thread : 0};
    const bool room = has_room(streams_, key);
    if (!room)
        key = {};
    std::unique_ptr<SliceTrack>& track = streams_[key];
    if (!track) {
        const std::string name = room ? stream_name(call) : "other streams";
        track = run_.slices({.name = name, .parent = device(call.place.device)});
    }
    return *track;
}

const std::string& RunTracks::call_name(std::uint64_t entry) {
    const auto [known, fresh] = call_names_.try_emplace(entry);
    if (fresh)
        known->second = run_.report().profile.call_name(entry);
    return known->second;
}

const std::string& RunTracks::kernel_name(std::uint64_t function) {
    const auto [known, fresh] = kernel_names_.try_emplace(function);
    if (fresh) {
        const std::string_view symbol = run_.trace().dictionary.function_symbol(function);
        known->second = symbol.empty() ? "kernel" : symbols::short_name(symbol);
    }
    return known->second;
}

std::string_view RunTracks::work_name(const WalkedCall& call) {
    switch (call.work) {
    case WorkKind::kernel:
        return kernel_name(call.function);
    case WorkKind::copy:
        copy_name_ = fmt::format("copy {}", words(call.direction));
        return copy_name_;
    case WorkKind::set:
        return "memory set";
    case WorkKind::prefetch:
        return "prefetch";
    case WorkKind::graph:
        return "graph";
    case WorkKind::host_function:
        return "host function";
    case WorkKind::none:
        break;
    }
    return "work";
}

void RunTracks::tell_work(const WalkedCall& call, std::uint64_t flow) {
    std::string grid, block;
    arguments_.clear();
    if (call.bytes != 0)
        arguments_.push_back({"bytes", call.bytes});
    if (call.work == WorkKind::copy) {
        arguments_.push_back({"from", trace::name(call.source)});
        arguments_.push_back({"to", trace::name(call.destination)});
    } else if (call.work == WorkKind::kernel) {
        grid = dimensions(call.grid);
        block = dimensions(call.block);
        arguments_.push_back({"grid", grid});
        arguments_.push_back({"block", block});
    }
    // After its call: of a flow that began and ended at one time, Perfetto may see the end first, since it
    // takes events of one time in the file's order.
    const std::int64_t began =
        stream(call).slice(std::max(call.work_start_ns, call.start_ns + 1), call.work_end_ns,
                           {.name = work_name(call),
                            .category = call.work_measured ? "device, measured" : "device, fitted",
                            .flow_end = flow,
                            .arguments = arguments_});
    if (flow != 0)
        run_.end_flow(flow, began);
}

void RunTracks::call(const WalkedCall& call) {
    const std::uint64_t flow = call.work == WorkKind::none || call.part ? 0 : run_.begin_flow(call.start_ns);
    end_ = std::max({end_, call.end_ns(), call.work_end_ns});
    if (!call.part) {
        arguments_.clear();
        if (call.bytes != 0)
            arguments_.push_back({"bytes", call.bytes});
        if (call.waited_ns != 0)
            arguments_.push_back({"waited ns", call.waited_ns});
        if (call.status != 0)
            arguments_.push_back({"CUresult", call.status});
        thread(call.thread)
            .slice(call.start_ns, call.end_ns(),
                   {.name = call_name(call.entry),
                    .category = call.by_umadvisor ? "umadvisor"
                                : call.measured   ? "call"
                                                  : "call, time estimated",
                    .stack = &run_.stack(call.stack),
                    .flow = flow,
                    .arguments = arguments_},
                   call.measured);
    }
    if (call.work != WorkKind::none)
        tell_work(call, flow);
}

void RunTracks::event(const reader::ThreadCursor& cursor) {
    std::visit(
        [&](const auto& record) {
            using Record = std::decay_t<decltype(record)>;
            if constexpr (std::is_same_v<Record, trace::Range>)
                ranges_.add(record, cursor.thread(), thread(cursor.thread()).uuid());
            else if constexpr (requires { memory_.add(record); })
                memory_.add(record);
            if constexpr (requires { record.start; })
                end_ = std::max(end_, std::min(run_.at(record.start), std::int64_t{1} << 61));
        },
        cursor.event());
}

void RunTracks::add_findings() {
    struct Marked {
        html::FindingTime time;
        const rules::Finding* finding = nullptr;
        std::string name{};
    };
    std::vector<Marked> all;
    const std::vector<html::FindingTime> times = html::finding_times(run_.report());
    for (const std::vector<rules::Finding>* const list : {&run_.report().findings, &run_.report().unpriced})
        for (const rules::Finding& finding : *list)
            all.push_back({times[all.size()], &finding, fmt::format("{} {}", finding.rule->id, finding.title)});
    if (all.empty())
        return;
    const auto at = [](double time) { return static_cast<std::int64_t>(time); };
    std::ranges::stable_sort(all, {}, [](const Marked& one) { return one.time.at; });
    const std::unique_ptr<Track> track = run_.track({.name = "findings", .parent = run_.process()});
    for (const Marked& one : all) {
        const rules::Finding& finding = *one.finding;
        const std::string line = run_.line(finding.stack),
                          saving = finding.unpriced
                                       ? finding.basis
                                       : text::saving_text(finding.saving_ns, finding.saving_bytes);
        const std::array<Argument, 5> arguments{{{"line", line},
                                                 {"seen", finding.summary},
                                                 {"advice", finding.advice},
                                                 {"saving", saving},
                                                 {"confidence", rules::name(finding.confidence)}}};
        track->add(at(one.time.at), {.type = EventType::instant,
                                     .name = one.name,
                                     .category = "finding",
                                     .stack = &run_.stack(finding.stack),
                                     .arguments = arguments});
    }
    // Rounds of a loop do not overlap: slices of the same round lie in each other.
    std::erase_if(all, [](const Marked& one) { return !one.time.worst; });
    std::ranges::stable_sort(all, {}, [](const Marked& one) { return one.time.worst->begin; });
    std::unique_ptr<Track> rounds;
    for (auto one = all.begin(); one != all.end();) {
        if (!rounds)
            rounds = run_.track({.name = "rounds that cost most", .parent = run_.process()});
        const html::FindingTime::Round round = *one->time.worst;
        std::size_t open = 0;
        for (; one != all.end() && one->time.worst->begin == round.begin; ++one, ++open)
            rounds->add(at(round.begin), {.type = EventType::begin, .name = one->name, .category = "finding"});
        for (; open != 0; --open)
            rounds->add(at(round.end), {.type = EventType::end});
    }
}

void RunTracks::finish() {
    for (const auto& [number, track] : threads_)
        track->finish(end_);
    for (const auto& [key, track] : streams_)
        track->finish(end_);
    ranges_.finish(end_);
    memory_.finish(end_);
    add_findings();
}

} // namespace

/// Perfetto merges two processes of one number, and two threads. Those of other hosts and containers may have
/// equal numbers. Linux has numbers below 2^22.
std::int64_t PerfettoExport::shift_of(const advice::Report& report) {
    std::set<std::int64_t> own{std::max<std::int64_t>(1, report.trace.file.header().pid)};
    for (const reader::ChunkInfo& chunk : report.trace.file.chunks())
        own.insert(std::max<std::int64_t>(1, chunk.thread));
    constexpr std::uint64_t most_shifts = 500; // a process has an int32
    const auto taken = [this](std::int64_t id) { return ids_.contains(id); };
    const std::int64_t shift =
        std::ranges::any_of(own, taken) ? static_cast<std::int64_t>(1 + runs_ % most_shifts) << 22 : 0;
    for (const std::int64_t id : own)
        ids_.insert(id + shift);
    return shift;
}

void PerfettoExport::add(advice::Report& report) {
    const std::int64_t shift = shift_of(report);
    Run run(file_, report, ++runs_, shift);
    RunTracks tracks(run);
    walk(report, tracks);
    tracks.finish();
}

} // namespace umadvisor::reports
