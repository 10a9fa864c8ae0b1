#include "analyzer/reports/html/timeline/timeline_json.hpp"

#include "analyzer/reader/plain.hpp"
#include "analyzer/reader/saturated.hpp"
#include "analyzer/reader/shown_name.hpp"
#include "analyzer/reports/html/finding_marks.hpp"
#include "analyzer/reports/html/timeline/allocated_variable.hpp"
#include "analyzer/reports/html/timeline/row_bytes.hpp"
#include "analyzer/reports/managed_lines.hpp"
#include "analyzer/rules/words.hpp"
#include "analyzer/symbols/demangle.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace umadvisor::html {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_fine_lines = 30; ///< those that moved most

std::string shown(std::string_view text) {
    constexpr std::size_t longest = 200;
    return reader::plain(reader::shown_name(text, longest));
}

class Writer {
public:
    Writer(advice::Report& report, const Timeline& timeline, bool with_source, PackedBytes& bytes)
        : report_(report),
          timeline_(timeline),
          with_source_(with_source),
          bytes_(bytes),
          rows_(bytes, timeline.span) {}

    Json document() {
        Json object{{"span", timeline_.span.length()}, {"unit", rows_.unit()}, {"told", timeline_.known_moves}};
        object["names"] = names();
        object["threads"] = threads();
        object["streams"] = streams();
        object["links"] = links();
        object["memory"] = memory();
        object["lines"] = lines();
        object["steps"] = steps();
        FindingMarks marks = finding_marks(report_, timeline_, line_numbers_);
        object["findings"] = std::move(marks.list);
        object["details"] = details(marks.details);
        return object;
    }

private:
    std::uint64_t begin() const { return bytes_.size(); }

    Json names() {
        Json list = Json::array();
        for (const Named& name : timeline_.names) {
            if (name.entry == 0 && name.function == 0) {
                list.push_back(nullptr);
                continue;
            }
            const std::string call = shown(report_.profile.call_name(name.entry));
            std::string function;
            if (name.function != 0)
                function = kernel_name(name.function);
            list.push_back({call, place_number(name.stack), function});
        }
        Json result{{"list", std::move(list)}};
        result["places"] = places_;
        return result;
    }

    /// Whole, as long as all of them do not take too much of the page.
    std::string kernel_name(std::uint64_t function) {
        const std::string name = symbols::demangle(report_.trace.dictionary.function_symbol(function));
        if (name.size() > kernel_text_left_)
            return shown(name);
        kernel_text_left_ -= name.size();
        return reader::plain(name);
    }

    std::size_t place_number(ids::StackId stack) {
        const auto [found, fresh] = place_numbers_.try_emplace(stack, 0);
        if (fresh) {
            const std::string text = stack.known() ? shown(report_.symbolizer.line(stack).text()) : "";
            const auto [place, is_new] = place_texts_.try_emplace(text, places_.size());
            if (is_new)
                places_.push_back(text);
            found->second = place->second;
        }
        return found->second;
    }

    Json threads() {
        Json list = Json::array();
        for (std::size_t i = 0; i < timeline_.threads.size(); ++i) {
            const ThreadRow* const thread = timeline_.threads[i].get();
            if (thread == nullptr)
                continue;
            const auto found = report_.trace.dictionary.threads.find(thread->tid);
            thread_numbers_[i] = list.size();
            list.push_back(
                {{"tid", thread->tid},
                 {"name",
                  found == report_.trace.dictionary.threads.end() ? "" : shown(found->second.thread_name)},
                 {"main", i == timeline_.main},
                 {"calls", thread->call_count},
                 {"causes", rows_.put(thread->causes)},
                 {"coverage", rows_.put(thread->calls)}});
        }
        return list;
    }

    Json streams() {
        Json list = Json::array();
        for (const auto& stream : timeline_.streams)
            if (stream) {
                stream_numbers_[stream->number] = list.size();
                list.push_back({{"number", stream->number},
                                {"device", stream->device},
                                {"default", stream->is_default},
                                {"kernels", stream->kernels},
                                {"copies", stream->copies},
                                {"work", rows_.put(stream->work)}});
            }
        return list;
    }

    Json links() {
        Json list = Json::array();
        for (const Link& each : timeline_.links)
            list.push_back({{"low", each.low},
                            {"high", each.high == Link::any_device ? Json() : Json(each.high)},
                            {"up", {{"at", rows_.put(each.up)}, {"bytes", each.up.bytes}}},
                            {"down", {{"at", rows_.put(each.down)}, {"bytes", each.down.bytes}}}});
        return list;
    }

    Json memory() {
        const std::uint64_t offset = begin();
        bytes_.number(timeline_.use.size());
        std::uint64_t at = 0;
        for (const MemoryUse& use : timeline_.use) {
            const std::uint64_t now = std::max(at, rows_.ticks(use.time));
            bytes_.number(now - at);
            at = now;
            bytes_.number(use.allocated / 1024);
            bytes_.number(use.resident / 1024);
        }
        const auto& devices = report_.trace.dictionary.devices;
        return {{"at", offset},
                {"peak", timeline_.peak_allocated},
                {"resident", timeline_.peak_resident},
                {"device", devices.empty() ? "" : shown(devices.front().device_name)},
                {"devices", devices.size()},
                {"capacity", devices.empty() ? 0 : devices.front().memory_bytes}};
    }

    std::string variable(const LineRow& line, const symbols::CodePlace& place) {
        if (const std::string_view symbol = report_.trace.dictionary.string(line.symbol); !symbol.empty())
            return shown(symbols::demangle(symbol));
        return with_source_ ? shown(allocated_variable(report_.symbolizer.source_text(place))) : std::string();
    }

    Json lines() {
        std::unordered_map<ids::StackId, const reports::ManagedLine*> moved;
        const std::vector<reports::ManagedLine> managed = reports::managed_lines(report_);
        for (const reports::ManagedLine& line : managed)
            moved[report_.symbolizer.line_stack(line.site.stack)] = &line;
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < timeline_.lines.size(); ++i)
            order.push_back(i);
        const auto weight = [&](std::size_t i) {
            const LineRow& line = timeline_.lines[i];
            const auto found = moved.find(line.stack);
            return found != moved.end() && line.memory == trace::Memory::managed
                       ? found->second->moved.to_device + found->second->moved.to_host
                       : line.copied_up + line.copied_down;
        };
        std::ranges::stable_sort(order, std::greater<>(),
                                 [&](std::size_t i) { return std::pair(weight(i), timeline_.lines[i].bytes); });
        Json list = Json::array();
        for (const std::size_t i : order) {
            const LineRow& line = timeline_.lines[i];
            const auto found = moved.find(line.stack);
            const bool told = found != moved.end() && line.memory == trace::Memory::managed;
            line_numbers_[i] = list.size();
            const std::size_t coarse = list.size() < most_fine_lines ? 1 : 4;
            list.push_back(line_json(line, told ? found->second : nullptr, coarse));
        }
        return list;
    }

    Json line_json(const LineRow& line, const reports::ManagedLine* managed, std::size_t coarse) {
        const symbols::CodePlace place = report_.symbolizer.line(line.stack);
        return {{"name", variable(line, place)},
                {"place", line.stack.known() ? shown(place.text()) : ""},
                {"call", shown(report_.profile.call_name(line.entry))},
                {"memory", name(line.memory)},
                {"count", line.count},
                {"bytes", line.bytes},
                {"largest", line.largest},
                {"first", line.first},
                {"up", managed != nullptr ? managed->moved.to_device : line.copied_up},
                {"down", managed != nullptr ? managed->moved.to_host : line.copied_down},
                {"basis", managed != nullptr ? Json(name(managed->basis)) : Json()},
                {"launches_told", line.launches_exact},
                {"at", rows_.put(line, coarse)},
                {"blocks", blocks(line)}};
    }

    Json blocks(const LineRow& line) {
        Json list = Json::array();
        for (const BlockRow& row : timeline_.blocks)
            if (&timeline_.lines[row.line] == &line) {
                list.push_back({{"number", row.number}, {"bytes", row.block_bytes}, {"at", begin()}});
                rows_.put_whole(row.row);
            }
        return list;
    }

    Json steps() {
        const std::uint64_t offset = begin();
        std::vector<StepPiece> steps = timeline_.steps;
        std::ranges::stable_sort(steps, {}, &StepPiece::begin);
        Json texts = Json::array();
        std::unordered_map<std::uint64_t, std::size_t> numbers;
        bytes_.number(steps.size());
        std::uint64_t at = 0;
        for (const StepPiece& step : steps) {
            const auto [found, fresh] = numbers.try_emplace(step.text, texts.size());
            if (fresh)
                texts.push_back(shown(report_.trace.dictionary.string(step.text)));
            bytes_.number(rows_.ticks(step.begin) - at);
            at = rows_.ticks(step.begin);
            bytes_.number(rows_.ticks(step.end - step.begin));
            bytes_.number(found->second);
            bytes_.number(step.depth);
        }
        std::string round;
        if (!timeline_.named_steps && timeline_.step_stack.known())
            round = shown(report_.symbolizer.line(timeline_.step_stack).text());
        return {
            {"at", offset}, {"named", timeline_.named_steps}, {"texts", std::move(texts)}, {"round", round}};
    }

    /// The details of rows that have too many pieces.
    Json details(const std::vector<ids::StackId>& chosen) {
        Json list = Json::array();
        for (const ids::StackId stack : chosen) {
            const Detail& detail = timeline_.details.at(stack);
            list.push_back({{"from", detail.from}, {"until", detail.until}, {"at", begin()}});
            put_rows(
                detail.causes, [&](std::uint32_t i) { return rows_.is_binned(timeline_.threads[i]->causes); },
                thread_numbers_);
            put_rows(
                detail.calls, [&](std::uint32_t i) { return rows_.is_binned(timeline_.threads[i]->calls); },
                thread_numbers_);
            put_rows(
                detail.work, [&](std::uint32_t i) { return rows_.is_binned(timeline_.streams[i]->work); },
                stream_numbers_);
            put_rows(detail.link, [&](std::uint32_t i) {
                const Link& link = timeline_.links[i >> 1];
                return !((i & 1) == 0 ? link.up : link.down).exact;
            });
            put_rows(
                detail.lines, [&](std::uint32_t i) { return rows_.is_binned(timeline_.lines[i]); },
                line_numbers_);
        }
        return list;
    }

    /// Those that are binned, each behind its number in the page.
    template <class Row, class Binned>
    void put_rows(const std::map<std::uint32_t, Row>& rows, const Binned& binned,
                  const std::unordered_map<std::size_t, std::size_t>& numbers = {}) {
        bytes_.number(static_cast<std::uint64_t>(
            std::ranges::count_if(rows, [&](const auto& each) { return binned(each.first); })));
        for (const auto& [index, row] : rows)
            if (binned(index)) {
                bytes_.number(numbers.empty() ? index : numbers.at(index));
                rows_.put_whole(row);
            }
    }

    advice::Report& report_;
    const Timeline& timeline_;
    bool with_source_;
    PackedBytes& bytes_;
    RowBytes rows_;
    std::size_t kernel_text_left_ = 200'000; ///< bytes
    Json places_ = Json::array();
    std::unordered_map<ids::StackId, std::size_t> place_numbers_;
    std::unordered_map<std::string, std::size_t> place_texts_;
    std::unordered_map<std::size_t, std::size_t> thread_numbers_, stream_numbers_,
        line_numbers_; ///< in the page
};

} // namespace

nlohmann::ordered_json timeline_json(advice::Report& report, const Timeline& timeline, bool with_source,
                                     PackedBytes& bytes) {
    return Writer(report, timeline, with_source, bytes).document();
}

} // namespace umadvisor::html
