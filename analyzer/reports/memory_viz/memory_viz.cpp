#include "analyzer/reports/memory_viz/memory_viz.hpp"

#include "analyzer/reader/event_stream.hpp"
#include "analyzer/reader/shown_name.hpp"
#include "analyzer/reports/memory_history.hpp"
#include "analyzer/reports/memory_viz/pickle.hpp"
#include "analyzer/reports/weighed_stacks.hpp"
#include "analyzer/tables/api_names.hpp"

#include <algorithm>
#include <unordered_map>
#include <variant>

namespace umadvisor::reports {
namespace {

/// Python's own pickler writes so many elements as one piece; the page takes a piece as arguments of one call.
constexpr std::size_t piece = 1000;
/// A trace of 1 MB may name 50,000 stacks of 1,000 frames; beyond so many, a stack is its first.
constexpr std::size_t most_frames = 1 << 18;
/// The largest block that PyTorch calls small.
constexpr std::uint64_t largest_small = 1 << 20;

class Snapshot {
public:
    Snapshot(const reader::Trace& trace, symbols::Symbolizer& symbolizer, const MemoryVizOptions& options,
             const std::function<void(std::string_view)>& write)
        : trace_(trace), symbolizer_(symbolizer), options_(options), out_(write) {}

    void write(const MemoryHistory& history);

private:
    template <class Value>
    void number(std::string_view key, Value value) {
        out_.key(key);
        out_.number(value);
    }
    void word(std::string_view key, std::string_view value) {
        out_.key(key);
        out_.key(value);
    }
    void frames(ids::StackId stack);
    void segment(const HeldMemory& memory);
    void step(const MemoryStep& step);
    void history_of(const MemoryHistory& history, std::uint64_t device);
    std::uint64_t microseconds(std::uint64_t ticks) const {
        const std::int64_t ns = trace_.time.at(ticks);
        return (trace_.file.header().realtime_ns + static_cast<std::uint64_t>(ns)) / 1000;
    }
    std::string call(std::uint64_t entry) const {
        return reader::shown_name(
            tables::call_name(trace_.dictionary.symbol(entry), !trace_.dictionary.runtimes.empty()));
    }

    const reader::Trace& trace_;
    symbols::Symbolizer& symbolizer_;
    const MemoryVizOptions& options_;
    PickleWriter out_;
    std::unordered_map<ids::StackId, std::uint32_t> stacks_;
    std::size_t frames_ = 0;
};

void Snapshot::frames(ids::StackId stack) {
    out_.key("frames");
    if (const auto known = stacks_.find(stack); known != stacks_.end()) {
        out_.again(known->second);
        return;
    }
    std::vector<symbols::CodePlace> places = shown_frames(symbolizer_, stack, options_.full_stacks);
    if (frames_ + places.size() > most_frames && places.size() > 1)
        places.resize(1);
    frames_ += places.size();
    out_.begin_list();
    for (const symbols::CodePlace& place : places) {
        out_.begin_dict();
        word("filename", reader::shown_name((place.file.empty() ? place.module : place.file).view()));
        number("line", static_cast<std::int64_t>(place.line));
        word("name", place.function.empty() ? reader::shown_name(place.text())
                                            : reader::shown_name(place.function.view()));
        out_.end_dict();
    }
    out_.end_list();
    stacks_.emplace(stack, out_.remember());
}

void Snapshot::segment(const HeldMemory& memory) {
    out_.begin_dict();
    number("device", memory.device);
    number("address", memory.address);
    for (const std::string_view key : {"total_size", "allocated_size", "active_size", "requested_size"})
        number(key, memory.bytes);
    number("stream", trace::number(memory.stream));
    word("segment_type", memory.bytes > largest_small ? "large" : "small");
    frames(memory.site.stack);
    out_.key("blocks");
    out_.begin_list();
    out_.begin_dict();
    number("address", memory.address);
    number("size", memory.bytes);
    number("requested_size", memory.bytes);
    word("state", "active_allocated");
    frames(memory.site.stack);
    out_.end_dict();
    out_.end_list();
    out_.end_dict();
}

void Snapshot::step(const MemoryStep& step) {
    out_.begin_dict();
    word("action", step.action);
    if (step.action == "oom")
        number("device_free", step.free);
    number("addr", step.memory.address);
    number("size", step.memory.bytes);
    number("stream", trace::number(step.memory.stream));
    frames(step.memory.site.stack);
    number("time_us", microseconds(step.start));
    word("user_metadata", step.memory.site.entry == 0 ? "" : call(step.memory.site.entry));
    out_.end_dict();
}

void Snapshot::history_of(const MemoryHistory& history, std::uint64_t device) {
    out_.begin_list();
    std::size_t written = 0;
    for (const MemoryStep& each : history.steps())
        if (each.memory.device == device) {
            if (written++ % piece == piece - 1)
                out_.next_piece();
            step(each);
        }
    out_.end_list();
}

void Snapshot::write(const MemoryHistory& history) {
    std::uint64_t devices = 1;
    for (const MemoryStep& each : history.steps())
        devices = std::max(devices, each.memory.device + 1);
    out_.begin_dict();
    out_.key("segments");
    out_.begin_list();
    std::size_t written = 0;
    for (const auto& [address, memory] : history.held()) {
        devices = std::max(devices, memory.device + 1);
        if (written++ % piece == piece - 1)
            out_.next_piece();
        segment(memory);
    }
    out_.end_list();
    out_.key("device_traces");
    out_.begin_list();
    for (std::uint64_t device = 0; device < devices; ++device)
        history_of(history, device);
    out_.end_list();
    out_.key("external_annotations");
    out_.begin_list();
    out_.end_list();
    out_.key("allocator_settings"); // this is no allocator of PyTorch's
    out_.begin_dict();
    out_.end_dict();
    out_.end_dict();
    out_.finish();
}

} // namespace

MemoryVizTotals write_memory_viz(reader::Trace& trace, symbols::Symbolizer& symbolizer,
                                 const MemoryVizOptions& options,
                                 const std::function<void(std::string_view)>& write) {
    MemoryHistory history(trace.dictionary, options.limit, options.at_oom);
    reader::EventStream events(trace.file);
    while (const reader::ThreadCursor* const cursor = events.next()) {
        if (const auto* const alloc = std::get_if<trace::Alloc>(&cursor->event()))
            history.add(*alloc);
        else if (const auto* const free = std::get_if<trace::Free>(&cursor->event()))
            history.add(*free);
    }
    Snapshot(trace, symbolizer, options, write).write(history);
    return {history.held().size(), history.steps().size(), history.left_out(), history.any_oom()};
}

} // namespace umadvisor::reports
