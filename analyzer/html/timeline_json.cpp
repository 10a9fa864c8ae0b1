#include "analyzer/html/timeline_json.hpp"

#include "analyzer/findings/words.hpp"
#include "analyzer/reader/plain.hpp"
#include "analyzer/reader/saturated.hpp"
#include "analyzer/reader/shown_name.hpp"
#include "analyzer/reports/managed_lines.hpp"
#include "analyzer/symbols/demangle.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

namespace umadvisor::html {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_fine_lines = 30; ///< those that moved most
constexpr double ticks_of_run = 134217728;  ///< 2^27: the page's own unit of time

std::string shown(std::string_view text) {
    constexpr std::size_t longest = 200;
    return reader::plain(reader::shown_name(text, longest));
}

class Writer {
public:
    Writer(reports::Report& report, const Timeline& timeline, bool with_source, PackedBytes& bytes)
        : report_(report),
          timeline_(timeline),
          with_source_(with_source),
          bytes_(bytes),
          unit_(std::max(1.0, timeline.span.length() / ticks_of_run)) {}

    Json document() {
        Json object{{"span", timeline_.span.length()}, {"unit", unit_}, {"told", timeline_.told_moves}};
        object["names"] = names();
        object["threads"] = threads();
        object["streams"] = streams();
        object["links"] = links();
        object["memory"] = memory();
        object["lines"] = lines();
        object["steps"] = steps();
        object["findings"] = findings();
        object["details"] = details();
        return object;
    }

private:
    std::uint64_t ticks(double ns) const { return reader::saturated(ns / unit_ + 0.5); }
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

    std::size_t place_number(std::uint64_t stack) {
        const auto [found, fresh] = place_numbers_.try_emplace(stack, 0);
        if (fresh) {
            const std::string text = stack == 0 ? "" : shown(report_.symbolizer.line(stack).text());
            const auto [place, is_new] = place_texts_.try_emplace(text, places_.size());
            if (is_new)
                places_.push_back(text);
            found->second = place->second;
        }
        return found->second;
    }

    std::uint64_t put(const PieceRow& row) {
        const std::uint64_t offset = begin();
        if (row.exact() && afford(row.pieces().size(), row_pieces_left_)) {
            put(row.pieces());
            return offset;
        }
        binned_.insert(&row);
        bytes_.byte(0);
        bytes_.number(row.states());
        bytes_.number(row.bins());
        for (std::size_t state = 0; state < row.states(); ++state)
            for (std::size_t bin = 0; bin < row.bins(); ++bin)
                bytes_.byte(eighth(row.share(state, bin)));
        return offset;
    }

    void put(const std::vector<Piece>& pieces) {
        bytes_.byte(1);
        bytes_.number(pieces.size());
        std::uint64_t end = 0;
        for (const Piece& piece : pieces) {
            const std::uint64_t from = std::max(end, ticks(piece.begin));
            bytes_.number(from - end);
            end = std::max(from, ticks(piece.end));
        }
        end = 0;
        for (const Piece& piece : pieces) {
            const std::uint64_t from = std::max(end, ticks(piece.begin));
            end = std::max(from, ticks(piece.end));
            bytes_.number(end - from);
        }
        for (const Piece& piece : pieces)
            bytes_.byte(static_cast<std::uint8_t>(piece.state));
        for (const Piece& piece : pieces)
            bytes_.number(piece.name);
    }

    static std::uint8_t eighth(double share) {
        return static_cast<std::uint8_t>(std::lround(std::clamp(share, 0.0, 1.0) * 255));
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
                 {"causes", put(thread->causes)},
                 {"coverage", put(thread->calls)}});
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
                                {"work", put(stream->work)}});
            }
        return list;
    }

    void put(std::vector<LinkPiece> pieces) {
        std::ranges::sort(pieces, {}, &LinkPiece::begin);
        bytes_.byte(1);
        bytes_.number(pieces.size());
        std::uint64_t at = 0;
        for (const LinkPiece& piece : pieces) {
            bytes_.number(ticks(piece.begin) - at);
            at = ticks(piece.begin);
            bytes_.number(std::max<std::uint64_t>(1, ticks(piece.end) - at));
            bytes_.number(reader::saturated(piece.bytes));
        }
    }

    Json links() {
        Json list = Json::array();
        for (const Link& each : timeline_.links)
            list.push_back({{"low", each.low},
                            {"high", each.high == Link::any_device ? Json() : Json(each.high)},
                            {"up", link(each.up)},
                            {"down", link(each.down)}});
        return list;
    }

    Json link(const LinkRow& row) {
        const std::uint64_t offset = begin();
        if (row.exact) {
            put(row.pieces);
        } else {
            bytes_.byte(0);
            bytes_.number(LinkRow::bins);
            for (const double bin : row.binned)
                bytes_.number(reader::saturated(bin));
        }
        return {{"at", offset}, {"bytes", row.bytes}};
    }

    Json memory() {
        const std::uint64_t offset = begin();
        bytes_.number(timeline_.use.size());
        std::uint64_t at = 0;
        for (const MemoryUse& use : timeline_.use) {
            const std::uint64_t now = std::max(at, ticks(use.time));
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

    /// "work" of "cudaMalloc(&work, bytes)" and of "work = torch.empty(n)".
    std::string variable(const LineRow& line, const symbols::CodePlace& place) {
        if (const std::string_view symbol = report_.trace.dictionary.string(line.symbol); !symbol.empty())
            return shown(symbols::demangle(symbol));
        if (!with_source_)
            return {};
        const std::string source = report_.symbolizer.source_text(place);
        const auto is_part = [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                   c == '.' || c == '>' || c == '-' || c == '[' || c == ']';
        };
        std::size_t at = source.find("lloc");
        if (at != std::string::npos)
            at = source.find('&', at);
        if (at != std::string::npos) {
            std::size_t end = ++at;
            while (end < source.size() && is_part(source[end]))
                ++end;
            if (end > at)
                return shown(source.substr(at, end - at));
        }
        const std::size_t equals = source.find(" = ");
        if (equals == std::string::npos || equals == 0)
            return {};
        std::size_t begin = equals;
        while (begin > 0 && is_part(source[begin - 1]))
            --begin;
        return begin == equals ? std::string() : shown(source.substr(begin, equals - begin));
    }

    Json lines() {
        std::unordered_map<std::uint64_t, const reports::ManagedLine*> moved;
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
                       : line.moved_up + line.moved_down;
        };
        std::ranges::stable_sort(order, std::greater<>(),
                                 [&](std::size_t i) { return std::pair(weight(i), timeline_.lines[i].bytes); });
        Json list = Json::array();
        for (const std::size_t i : order) {
            const LineRow& line = timeline_.lines[i];
            const auto found = moved.find(line.stack);
            const bool told = found != moved.end() && line.memory == trace::Memory::managed;
            line_numbers_[i] = list.size();
            coarse_ = list.size() < most_fine_lines ? 1 : 4;
            list.push_back(line_json(line, told ? found->second : nullptr));
        }
        return list;
    }

    Json line_json(const LineRow& line, const reports::ManagedLine* managed) {
        const symbols::CodePlace place = report_.symbolizer.line(line.stack);
        return {{"name", variable(line, place)},
                {"place", line.stack == 0 ? "" : shown(place.text())},
                {"call", shown(report_.profile.call_name(line.entry))},
                {"memory", name(line.memory)},
                {"count", line.count},
                {"bytes", line.bytes},
                {"largest", line.largest},
                {"first", line.first},
                {"up", managed != nullptr ? managed->moved.to_device : line.moved_up},
                {"down", managed != nullptr ? managed->moved.to_host : line.moved_down},
                {"basis", managed != nullptr ? Json(name(managed->basis)) : Json()},
                {"drawn_up", line.moved_up},
                {"drawn_down", line.moved_down},
                {"launches_told", line.launches_exact},
                {"at", put(line)},
                {"blocks", blocks(line)}};
    }

    Json blocks(const LineRow& line) {
        Json list = Json::array();
        for (const BlockRow& row : timeline_.blocks)
            if (&timeline_.lines[row.line] == &line) {
                list.push_back({{"number", row.number}, {"bytes", row.block_bytes}, {"at", begin()}});
                put_whole(row.row);
            }
        return list;
    }

    /// Whether the exact pieces of a row still fit: the page is to stay small.
    static bool afford(std::size_t pieces, std::size_t& left) {
        if (pieces > left)
            return false;
        left -= pieces;
        return true;
    }

    std::uint64_t put(const LineRow& line) {
        const std::uint64_t offset = begin();
        const bool told = line.binned_stays.empty(),
                   fits = line.stays_exact && afford(line.stays.size(), line_pieces_left_);
        if (told || fits)
            put_stays(line);
        else
            put_binned_stays(line);
        const bool moves_fit = line.moves_exact && afford(line.moves.size(), line_pieces_left_);
        if (line.binned_moves.empty() || moves_fit)
            put_moves(line);
        else
            put_binned_moves(line);
        const bool with_launches = afford(line.launches.size(), line_pieces_left_);
        put_launches(with_launches ? line.launches : Stretches());
        if (!(told || fits) || !(line.binned_moves.empty() || moves_fit) || !with_launches ||
            !line.launches_exact)
            binned_.insert(&line);
        return offset;
    }

    void put_launches(const Stretches& launches) {
        bytes_.number(launches.size());
        std::uint64_t at = 0;
        for (const auto& [from, until] : launches) {
            const std::uint64_t now = std::max(at, ticks(from));
            bytes_.number(now - at);
            at = now;
            bytes_.number(ticks(until - from));
        }
    }

    /// Of `coarse_` bins from there on, by bytes; less where nothing lived for a part of it.
    double place_share(const LineRow& line, std::size_t place, std::size_t first) const {
        double sum = 0, of_place = 0, alive = 0;
        for (std::size_t bin = first; bin < first + coarse_; ++bin) {
            for (std::size_t other = 0; other < places; ++other)
                sum += line.binned_stays[other * LineRow::bins + bin];
            of_place += line.binned_stays[place * LineRow::bins + bin];
            alive += std::min(1.0f, line.binned_alive[bin]) / static_cast<double>(coarse_);
        }
        return sum > 0 ? of_place / sum * alive : 0;
    }

    void put_binned_stays(const LineRow& line) {
        bytes_.byte(0);
        bytes_.number(LineRow::bins / coarse_);
        for (std::size_t place = 0; place < places; ++place)
            for (std::size_t bin = 0; bin < LineRow::bins; bin += coarse_)
                bytes_.byte(eighth(place_share(line, place, bin)));
    }

    void put_stays(const LineRow& line) {
        bytes_.byte(1);
        bytes_.number(line.parts.size());
        for (const AllocationPart& part : line.parts) {
            bytes_.number(part.number);
            bytes_.number(ticks(part.begin));
            bytes_.number(ticks(part.end - part.begin));
            bytes_.number(part.bytes);
            bytes_.number(part.moved);
        }
        std::map<std::array<std::uint8_t, places>, std::uint64_t> kinds;
        for (const StayPiece& piece : line.stays)
            kinds.try_emplace(piece.shares, 0);
        bytes_.number(kinds.size());
        std::uint64_t number = 0;
        for (auto& [shares, index] : kinds) {
            index = number++;
            for (const std::uint8_t share : shares)
                bytes_.byte(share);
        }
        std::vector<StayPiece> pieces = line.stays;
        std::ranges::stable_sort(pieces, {}, &StayPiece::begin);
        bytes_.number(pieces.size());
        std::uint64_t at = 0;
        for (const StayPiece& piece : pieces) {
            bytes_.number(ticks(piece.begin) - at);
            at = ticks(piece.begin);
        }
        for (const StayPiece& piece : pieces)
            bytes_.number(ticks(piece.end - piece.begin));
        for (const StayPiece& piece : pieces)
            bytes_.number(kinds[piece.shares]);
        for (const StayPiece& piece : pieces)
            bytes_.number(part_index(line, piece.number));
    }

    static std::size_t part_index(const LineRow& line, std::uint32_t number) {
        const auto part = std::ranges::lower_bound(line.parts, number, {}, &AllocationPart::number);
        return static_cast<std::size_t>(part - line.parts.begin());
    }

    void put_binned_moves(const LineRow& line) {
        bytes_.byte(0);
        bytes_.number(LineRow::bins / coarse_);
        for (std::size_t bin = 0; bin < line.binned_moves.size(); bin += coarse_) {
            double sum = 0;
            for (std::size_t i = 0; i < coarse_; ++i)
                sum += line.binned_moves[bin + i];
            bytes_.number(reader::saturated(sum));
        }
    }

    void put_moves(const LineRow& line) {
        bytes_.byte(1);
        std::vector<MoveMark> moves = line.moves;
        std::ranges::stable_sort(moves, {}, &MoveMark::time);
        bytes_.number(moves.size());
        std::uint64_t at = 0;
        for (const MoveMark& move : moves) {
            bytes_.number(ticks(move.time) - at);
            at = ticks(move.time);
        }
        for (const MoveMark& move : moves)
            bytes_.number(move.bytes);
        for (const MoveMark& move : moves)
            bytes_.number(part_index(line, move.number));
        for (const MoveMark& move : moves)
            bytes_.byte(
                static_cast<std::uint8_t>(static_cast<unsigned>(move.cause) << 1 | (move.up ? 1u : 0u)));
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
            bytes_.number(ticks(step.begin) - at);
            at = ticks(step.begin);
            bytes_.number(ticks(step.end - step.begin));
            bytes_.number(found->second);
            bytes_.number(step.depth);
        }
        std::string round;
        if (!timeline_.named_steps && timeline_.step_stack != 0)
            round = shown(report_.symbolizer.line(timeline_.step_stack).text());
        return {
            {"at", offset}, {"named", timeline_.named_steps}, {"texts", std::move(texts)}, {"round", round}};
    }

    /// The calls of a line: the longest, and the one that rows with too many pieces show in full.
    struct OfLine {
        Worst worst;
        std::uint64_t detail = 0; ///< stack; 0: none
        double detail_length = 0;
    };

    std::unordered_map<std::uint64_t, OfLine> calls_by_line() {
        std::unordered_map<std::uint64_t, OfLine> result;
        for (const auto& [stack, worst] : timeline_.calls) {
            if (worst.last == 0) // no call of it was placed
                continue;
            const auto [found, fresh] = result.try_emplace(report_.symbolizer.line_stack(stack));
            OfLine& line = found->second;
            line.worst.first = fresh ? worst.first : std::min(line.worst.first, worst.first);
            line.worst.last = std::max(line.worst.last, worst.last);
            if (worst.length > line.worst.length || fresh) {
                line.worst.length = worst.length;
                line.worst.time = worst.time;
            }
            const auto detail = timeline_.details.find(stack);
            if (detail != timeline_.details.end() &&
                detail->second.end - detail->second.begin > line.detail_length) {
                line.detail = stack;
                line.detail_length = detail->second.end - detail->second.begin;
            }
        }
        return result;
    }

    /// Where each finding costs most, and the row that shows it. Where rows have too many pieces, the place is
    /// one that has a detail, of the line itself or else of one that the finding names.
    Json findings() {
        const std::unordered_map<std::uint64_t, OfLine> by_line = calls_by_line();
        const auto of_line = [&](std::uint64_t stack) -> const OfLine* {
            const auto found = stack == 0 ? by_line.end() : by_line.find(report_.symbolizer.line_stack(stack));
            return found == by_line.end() ? nullptr : &found->second;
        };
        Json list = Json::array();
        for (const findings::Finding& finding : report_.findings) {
            const OfLine* line = of_line(finding.stack);
            for (const auto& [what, stack] : finding.places)
                if (!timeline_.details.empty() && (line == nullptr || line->detail == 0))
                    if (const OfLine* const other = of_line(stack); other != nullptr && other->detail != 0)
                        line = other;
            Json mark{{"row", nullptr}, {"at", nullptr}, {"from", nullptr}, {"until", nullptr}, {"length", 0}};
            if (line != nullptr)
                mark = {{"row", nullptr},
                        {"at", line->worst.time},
                        {"from", line->worst.first},
                        {"until", line->worst.last},
                        {"length", line->worst.length}};
            const bool has_detail = line != nullptr && line->detail != 0 && choose(line->detail);
            if (has_detail) {
                const Detail& detail = timeline_.details.at(line->detail);
                mark["at"] = detail.begin;
                mark["length"] = detail.end - detail.begin;
            }
            mark_line(finding, mark, has_detail);
            list.push_back(std::move(mark));
        }
        return list;
    }

    /// Whether the page will have the detail: it has those of the findings that save most.
    bool choose(std::uint64_t stack) {
        constexpr std::size_t most = 12;
        if (std::ranges::find(chosen_, stack) != chosen_.end())
            return true;
        if (chosen_.size() == most)
            return false;
        chosen_.push_back(stack);
        return true;
    }

    /// Of the rows that have too many pieces.
    Json details() {
        Json list = Json::array();
        for (const std::uint64_t stack : chosen_) {
            const Detail& detail = timeline_.details.at(stack);
            list.push_back({{"from", detail.from}, {"until", detail.until}, {"at", begin()}});
            put_rows(
                detail.causes, [&](std::uint32_t i) { return is_binned(timeline_.threads[i]->causes); },
                thread_numbers_);
            put_rows(
                detail.calls, [&](std::uint32_t i) { return is_binned(timeline_.threads[i]->calls); },
                thread_numbers_);
            put_rows(
                detail.work, [&](std::uint32_t i) { return is_binned(timeline_.streams[i]->work); },
                stream_numbers_);
            put_rows(detail.link, [&](std::uint32_t i) {
                const Link& link = timeline_.links[i >> 1];
                return !((i & 1) == 0 ? link.up : link.down).exact;
            });
            put_rows(
                detail.lines, [&](std::uint32_t i) { return is_binned(timeline_.lines[i]); }, line_numbers_);
        }
        return list;
    }

    template <class Row>
    bool is_binned(const Row& row) const {
        return binned_.contains(&row);
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
                put_whole(row);
            }
    }
    void put_whole(const std::vector<Piece>& pieces) { put(pieces); }
    void put_whole(const std::vector<LinkPiece>& pieces) { put(pieces); }
    void put_whole(const LineRow& line) {
        put_stays(line);
        put_moves(line);
        put_launches(line.launches);
    }

    void mark_line(const findings::Finding& finding, Json& mark, bool has_detail) {
        if (finding.allocation_stack == 0)
            return;
        const std::uint64_t stack = report_.symbolizer.line_stack(finding.allocation_stack);
        for (std::size_t i = 0; i < timeline_.lines.size(); ++i) {
            const LineRow& line = timeline_.lines[i];
            if (line.stack != stack)
                continue;
            mark["row"] = line_numbers_[i];
            const auto worst = std::ranges::max_element(line.moves, {}, &MoveMark::bytes);
            const bool of_managed = std::string_view(finding.rule->id).starts_with("UMA-2");
            if (worst != line.moves.end() && !has_detail && (of_managed || mark["at"].is_null())) {
                mark["at"] = worst->time;
                mark["from"] = line.moves.front().time;
                mark["until"] = line.moves.back().time;
            }
            if (mark["at"].is_null())
                mark["at"] = line.first;
            return;
        }
    }

    reports::Report& report_;
    const Timeline& timeline_;
    bool with_source_;
    PackedBytes& bytes_;
    double unit_;
    std::size_t row_pieces_left_ = 250'000, line_pieces_left_ = 30'000;
    std::size_t kernel_text_left_ = 200'000; ///< bytes
    std::size_t coarse_ = 1;                 ///< bins of a line that are one in the page
    Json places_ = Json::array();
    std::unordered_map<std::uint64_t, std::size_t> place_numbers_;
    std::unordered_map<std::string, std::size_t> place_texts_;
    std::unordered_map<std::size_t, std::size_t> thread_numbers_, stream_numbers_,
        line_numbers_;                  ///< in the page
    std::set<const void*> binned_;      ///< rows whose pieces the page lacks
    std::vector<std::uint64_t> chosen_; ///< stacks of details that the page has
};

} // namespace

nlohmann::ordered_json timeline_json(reports::Report& report, const Timeline& timeline, bool with_source,
                                     PackedBytes& bytes) {
    return Writer(report, timeline, with_source, bytes).document();
}

} // namespace umadvisor::html
