#include "analyzer/reports/html/finding_marks.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

namespace umadvisor::html {
namespace {

using Json = nlohmann::ordered_json;

/// A call of a line, or its work, that a detail has.
struct Shown {
    ids::StackId detail{}; ///< its stack
    double begin = 0, length = 0;
};

/// The calls of a line.
struct OfLine {
    Worst worst;              ///< the longest
    std::vector<Shown> shown; ///< the longest that each detail has
};

/// Something that a finding costs: a call of its line, or bytes of its memory that moved.
struct Cost {
    double time = 0, length = 0, weight = 0;
};

/// Rounds of the loop, or NVTX ranges of the depth that has most of them, in the order of time.
std::vector<StepPiece> rounds_of(const Timeline& timeline) {
    std::map<std::uint32_t, std::vector<StepPiece>> by_depth;
    for (const StepPiece& step : timeline.steps)
        by_depth[step.depth].push_back(step);
    const auto most =
        std::ranges::max_element(by_depth, {}, [](const auto& each) { return each.second.size(); });
    if (most == by_depth.end())
        return {};
    std::ranges::sort(most->second, {}, &StepPiece::begin);
    return std::move(most->second);
}

class Marker {
public:
    Marker(advice::Report& report, const Timeline& timeline,
           const std::unordered_map<std::size_t, std::size_t>& line_numbers)
        : report_(report), timeline_(timeline), line_numbers_(line_numbers), rounds_(rounds_of(timeline)) {
        for (const std::unique_ptr<ThreadRow>& thread : timeline.threads)
            if (thread && !rounds_.empty())
                for (const Piece& piece : thread->calls.pieces())
                    if (piece.name != 0)
                        costs_[report.symbolizer.line_stack(timeline.names[piece.name].stack)].push_back(
                            {piece.begin, piece.end - piece.begin, piece.end - piece.begin});
        for (const auto& [stack, worst] : timeline.calls)
            if (worst.last != 0) // else no call of it was placed
                add(worst, lines_[report.symbolizer.line_stack(stack)]);
        std::vector<OfLine*> by_name(timeline.names.size());
        for (const auto& [stack, detail] : timeline.details) {
            show(lines_[report.symbolizer.line_stack(stack)], {stack, detail.begin, detail.end - detail.begin});
            for (const auto* const rows : {&detail.calls, &detail.work})
                for (const auto& [number, pieces] : *rows)
                    for (const Piece& piece : pieces) {
                        OfLine*& line = by_name[piece.name];
                        if (line == nullptr) // its address stays, whatever else is inserted
                            line = &lines_[report.symbolizer.line_stack(timeline.names[piece.name].stack)];
                        show(*line, {stack, piece.begin, piece.end - piece.begin});
                    }
        }
    }

    FindingMarks marks() {
        FindingMarks result{Json::array(), {}};
        for (const rules::Finding& finding : report_.findings)
            result.list.push_back(mark(finding));
        result.details = std::move(chosen_);
        return result;
    }

    /// A mark is the place where the finding costs most, and the row that shows it. A row with too many pieces
    /// is drawn in full in some windows only: then the mark is in one of these, on the finding's line or else
    /// on a line that the finding names.
    Json mark(const rules::Finding& finding) {
        Json mark{{"row", nullptr}, {"at", nullptr}, {"from", nullptr}, {"until", nullptr}, {"length", 0}};
        const Shown* shown = nullptr;
        const auto look = [&](ids::StackId stack) {
            const OfLine* const line = of_line(stack);
            if (line == nullptr || shown != nullptr)
                return;
            shown = choose(*line);
            if (mark["at"].is_null() || shown != nullptr)
                mark = {{"row", nullptr},
                        {"at", line->worst.time},
                        {"from", line->worst.first},
                        {"until", line->worst.last},
                        {"length", line->worst.length}};
        };
        look(finding.stack);
        if (!timeline_.details.empty()) {
            for (const auto& [what, stack] : finding.places)
                look(stack);
            look(finding.allocation_stack);
        }
        if (shown != nullptr) {
            mark["at"] = shown->begin;
            mark["length"] = shown->length;
        }
        mark_line(finding, mark, shown != nullptr);
        if (shown == nullptr)
            mark_rounds(finding, mark);
        return mark;
    }

private:
    static void add(const Worst& worst, OfLine& line) {
        line.worst.first = line.worst.last == 0 ? worst.first : std::min(line.worst.first, worst.first);
        line.worst.last = std::max(line.worst.last, worst.last);
        if (worst.length >= line.worst.length) {
            line.worst.length = worst.length;
            line.worst.time = worst.time;
        }
    }

    /// The pieces of a detail come one behind the other.
    static void show(OfLine& line, const Shown& piece) {
        if (line.shown.empty() || line.shown.back().detail != piece.detail)
            line.shown.push_back(piece);
        else if (piece.length > line.shown.back().length)
            line.shown.back() = piece;
    }

    const OfLine* of_line(ids::StackId stack) {
        const auto found = stack.known() ? lines_.find(report_.symbolizer.line_stack(stack)) : lines_.end();
        return found == lines_.end() ? nullptr : &found->second;
    }

    /// The page has the details of the findings that save most, and all further findings that these show.
    const Shown* choose(const OfLine& line) {
        constexpr double alike = 0.5; // of the longest call's length: one this long shows as much
        const auto is_chosen = [this](const Shown& shown) {
            return std::ranges::find(chosen_, shown.detail) != chosen_.end();
        };
        const Shown* best = nullptr;
        for (const Shown& shown : line.shown)
            if (is_chosen(shown) && (best == nullptr || shown.length > best->length))
                best = &shown;
        const auto longest = std::ranges::max_element(line.shown, {}, &Shown::length);
        if (longest == line.shown.end() || (best != nullptr && best->length >= alike * longest->length))
            return best;
        const std::size_t pieces = pieces_of(timeline_.details.at(longest->detail));
        if (pieces > pieces_left_)
            return best;
        pieces_left_ -= pieces;
        chosen_.push_back(longest->detail);
        return &*longest;
    }

    static std::size_t pieces_of(const Detail& detail) {
        std::size_t sum = 0;
        for (const auto* const rows : {&detail.causes, &detail.calls, &detail.work})
            for (const auto& [number, pieces] : *rows)
                sum += pieces.size();
        for (const auto& [number, pieces] : detail.link)
            sum += pieces.size();
        for (const auto& [number, line] : detail.lines)
            sum += line.stays.size() + line.moves.size() + line.launches.size();
        return sum;
    }

    /// The round that costs most of the finding, and the one in the middle of those that cost anything. Where
    /// memory of the finding moves, its bytes are the cost, else the time of its line's calls.
    void mark_rounds(const rules::Finding& finding, Json& mark) {
        std::vector<Cost> costs;
        if (finding.rule->group() == '2' && mark["row"].is_number())
            for (const auto& [line, number] : line_numbers_)
                if (number == mark["row"])
                    for (const MoveMark& move : timeline_.lines[line].moves)
                        costs.push_back({move.time, 0, static_cast<double>(move.bytes)});
        if (costs.empty() && finding.stack.known())
            if (const auto found = costs_.find(report_.symbolizer.line_stack(finding.stack));
                found != costs_.end())
                costs = found->second;
        struct Round {
            std::size_t number = 0;
            double sum = 0;
            const Cost* most = nullptr;
        };
        std::map<std::size_t, Round> sums;
        for (const Cost& cost : costs) {
            const auto next = std::ranges::upper_bound(rounds_, cost.time, {}, &StepPiece::begin);
            if (next == rounds_.begin() || cost.time >= std::prev(next)->end || cost.weight <= 0)
                continue;
            const auto number = static_cast<std::size_t>(next - rounds_.begin()) - 1;
            Round& round = sums[number];
            round.number = number;
            round.sum += cost.weight;
            if (round.most == nullptr || cost.weight > round.most->weight)
                round.most = &cost;
        }
        if (sums.size() < 2)
            return;
        std::vector<Round> rounds;
        for (const auto& [number, round] : sums)
            rounds.push_back(round);
        std::ranges::stable_sort(rounds, std::ranges::greater{}, &Round::sum);
        const Round &worst = rounds.front(), &typical = rounds[rounds.size() / 2];
        mark["at"] = worst.most->time;
        mark["length"] = worst.most->length;
        const auto window = [this](const Round& round) {
            return Json{rounds_[round.number].begin, rounds_[round.number].end};
        };
        mark["rounds"] = {{"count", rounds.size()}, {"worst", window(worst)}, {"typical", window(typical)}};
    }

    void mark_line(const rules::Finding& finding, Json& mark, bool is_shown) {
        if (!finding.allocation_stack.known())
            return;
        const ids::StackId stack = report_.symbolizer.line_stack(finding.allocation_stack);
        for (std::size_t i = 0; i < timeline_.lines.size(); ++i) {
            const LineRow& line = timeline_.lines[i];
            if (line.stack != stack)
                continue;
            mark["row"] = line_numbers_.at(i);
            const auto worst = std::ranges::max_element(line.moves, {}, &MoveMark::bytes);
            const bool of_managed = finding.rule->group() == '2';
            if (worst != line.moves.end() && !is_shown && (of_managed || mark["at"].is_null())) {
                mark["at"] = worst->time;
                mark["from"] = line.moves.front().time;
                mark["until"] = line.moves.back().time;
            }
            if (mark["at"].is_null())
                mark["at"] = line.first;
            return;
        }
    }

    advice::Report& report_;
    const Timeline& timeline_;
    const std::unordered_map<std::size_t, std::size_t>& line_numbers_;
    std::unordered_map<ids::StackId, OfLine> lines_;
    std::vector<StepPiece> rounds_;
    std::unordered_map<ids::StackId, std::vector<Cost>> costs_; ///< of calls, by line, where all are known
    std::vector<ids::StackId> chosen_;                          ///< stacks of details that the page has
    std::size_t pieces_left_ = 64'000;                          ///< that these may have
};

FindingTime time_of(const Json& mark) {
    FindingTime time;
    if (mark["at"].is_number())
        time.at = mark["at"].get<double>();
    if (mark.contains("rounds")) {
        const auto round = [&](const char* which) {
            return FindingTime::Round{mark["rounds"][which][0].get<double>(),
                                      mark["rounds"][which][1].get<double>()};
        };
        time.worst = round("worst");
        time.typical = round("typical");
    }
    return time;
}

} // namespace

std::vector<FindingTime> finding_times(advice::Report& report) {
    if (report.findings.empty() && report.unpriced.empty())
        return {};
    TimelinePass pass(report.profile, report.symbolizer);
    pass.run();
    const Timeline timeline = pass.finish(&report);
    std::unordered_map<std::size_t, std::size_t> rows; // without a page, a line's number is its index
    for (std::size_t line = 0; line < timeline.lines.size(); ++line)
        rows.emplace(line, line);
    Marker marker(report, timeline, rows);
    std::vector<FindingTime> times;
    for (const std::vector<rules::Finding>* const list : {&report.findings, &report.unpriced})
        for (const rules::Finding& finding : *list)
            times.push_back(time_of(marker.mark(finding)));
    return times;
}

FindingMarks finding_marks(advice::Report& report, const Timeline& timeline,
                           const std::unordered_map<std::size_t, std::size_t>& line_numbers) {
    return Marker(report, timeline, line_numbers).marks();
}

} // namespace umadvisor::html
