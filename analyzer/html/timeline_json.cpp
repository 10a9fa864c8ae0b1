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
        object["link"] = {{"up", link(timeline_.up)}, {"down", link(timeline_.down)}};
        object["memory"] = memory();
        object["lines"] = lines();
        object["steps"] = steps();
        object["findings"] = findings();
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
                function = shown(symbols::demangle(report_.trace.dictionary.function_symbol(name.function)));
            list.push_back({call, place_number(name.stack), function});
        }
        Json result{{"list", std::move(list)}};
        result["places"] = places_;
        return result;
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
            bytes_.byte(1);
            bytes_.number(row.pieces().size());
            std::uint64_t end = 0;
            for (const Piece& piece : row.pieces()) {
                const std::uint64_t from = std::max(end, ticks(piece.begin));
                bytes_.number(from - end);
                end = std::max(from, ticks(piece.end));
            }
            end = 0;
            for (const Piece& piece : row.pieces()) {
                const std::uint64_t from = std::max(end, ticks(piece.begin));
                end = std::max(from, ticks(piece.end));
                bytes_.number(end - from);
            }
            for (const Piece& piece : row.pieces())
                bytes_.byte(static_cast<std::uint8_t>(piece.state));
            for (const Piece& piece : row.pieces())
                bytes_.number(piece.name);
            return offset;
        }
        bytes_.byte(0);
        bytes_.number(row.states());
        bytes_.number(row.bins());
        for (std::size_t state = 0; state < row.states(); ++state)
            for (std::size_t bin = 0; bin < row.bins(); ++bin)
                bytes_.byte(eighth(row.share(state, bin)));
        return offset;
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
            if (stream)
                list.push_back({{"number", stream->number},
                                {"device", stream->device},
                                {"default", stream->is_default},
                                {"kernels", stream->kernels},
                                {"copies", stream->copies},
                                {"work", put(stream->work)}});
        return list;
    }

    Json link(const LinkRow& row) {
        const std::uint64_t offset = begin();
        std::vector<LinkPiece> pieces = row.pieces;
        std::ranges::sort(pieces, {}, &LinkPiece::begin);
        bytes_.byte(row.exact ? 1 : 0);
        if (row.exact) {
            bytes_.number(pieces.size());
            std::uint64_t at = 0;
            for (const LinkPiece& piece : pieces) {
                bytes_.number(ticks(piece.begin) - at);
                at = ticks(piece.begin);
                bytes_.number(std::max<std::uint64_t>(1, ticks(piece.end) - at));
                bytes_.number(reader::saturated(piece.bytes));
            }
        } else {
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
            return shown(symbol);
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
                {"at", put(line)}};
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
        put_stays(line);
        put_moves(line);
        const bool with_launches = afford(line.launches.size(), line_pieces_left_);
        bytes_.number(with_launches ? line.launches.size() : 0);
        double at = 0;
        for (const auto& [from, until] : line.launches) {
            if (!with_launches)
                break;
            const auto now = static_cast<double>(ticks(static_cast<double>(from) * timeline_.span.length()));
            bytes_.number(reader::saturated(std::max(0.0, now - at)));
            at = std::max(at, now);
            bytes_.number(ticks(static_cast<double>(until - from) * timeline_.span.length()));
        }
        return offset;
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

    void put_stays(const LineRow& line) {
        const bool exact =
            line.binned_stays.empty() || (line.stays_exact && afford(line.stays.size(), line_pieces_left_));
        bytes_.byte(exact ? 1 : 0);
        if (!exact) {
            bytes_.number(LineRow::bins / coarse_);
            for (std::size_t place = 0; place < places; ++place)
                for (std::size_t bin = 0; bin < LineRow::bins; bin += coarse_)
                    bytes_.byte(eighth(place_share(line, place, bin)));
            return;
        }
        bytes_.number(line.parts.size());
        for (const AllocationPart& part : line.parts) {
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
            bytes_.number(piece.number);
    }

    void put_moves(const LineRow& line) {
        const bool exact =
            line.binned_moves.empty() || (line.moves_exact && afford(line.moves.size(), line_pieces_left_));
        bytes_.byte(exact ? 1 : 0);
        if (!exact) {
            bytes_.number(LineRow::bins / coarse_);
            for (std::size_t bin = 0; bin < line.binned_moves.size(); bin += coarse_) {
                double sum = 0;
                for (std::size_t i = 0; i < coarse_; ++i)
                    sum += line.binned_moves[bin + i];
                bytes_.number(reader::saturated(sum));
            }
            return;
        }
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
            bytes_.number(move.number);
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

    /// Where each finding costs most, and the row that shows it.
    Json findings() {
        std::unordered_map<std::uint64_t, Worst> by_line;
        for (const auto& [stack, worst] : timeline_.calls) {
            if (worst.last == 0) // no call of it was placed
                continue;
            const auto [found, fresh] = by_line.try_emplace(report_.symbolizer.line_stack(stack), worst);
            if (fresh)
                continue;
            found->second.first = std::min(found->second.first, worst.first);
            found->second.last = std::max(found->second.last, worst.last);
            if (worst.length > found->second.length) {
                found->second.length = worst.length;
                found->second.time = worst.time;
            }
        }
        Json list = Json::array();
        for (const findings::Finding& finding : report_.findings) {
            Json mark{{"row", nullptr}, {"at", nullptr}, {"from", nullptr}, {"until", nullptr}, {"length", 0}};
            if (finding.stack != 0)
                if (const auto found = by_line.find(report_.symbolizer.line_stack(finding.stack));
                    found != by_line.end())
                    mark = {{"row", nullptr},
                            {"at", found->second.time},
                            {"from", found->second.first},
                            {"until", found->second.last},
                            {"length", found->second.length}};
            mark_line(finding, mark);
            list.push_back(std::move(mark));
        }
        return list;
    }

    void mark_line(const findings::Finding& finding, Json& mark) {
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
            if (worst != line.moves.end() && (of_managed || mark["at"].is_null())) {
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
    std::size_t coarse_ = 1; ///< bins of a line that are one in the page
    Json places_ = Json::array();
    std::unordered_map<std::uint64_t, std::size_t> place_numbers_;
    std::unordered_map<std::string, std::size_t> place_texts_;
    std::unordered_map<std::size_t, std::size_t> line_numbers_;
};

} // namespace

nlohmann::ordered_json timeline_json(reports::Report& report, const Timeline& timeline, bool with_source,
                                     PackedBytes& bytes) {
    return Writer(report, timeline, with_source, bytes).document();
}

} // namespace umadvisor::html
