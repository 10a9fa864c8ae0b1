/// What rows with too many pieces keep: all of them around the longest call of each of a few stacks.
#include "analyzer/reports/html/timeline/pass.hpp"

#include <algorithm>
#include <utility>

namespace umadvisor::html {
namespace {

constexpr std::size_t most_worst = 1 << 16;

} // namespace

/// How much of the run goes into a closeup on either side: so many records, on average. 0: no row will have
/// more pieces than it may.
double Pass::reach(const rules::Profile& profile) {
    constexpr std::uint64_t records = 250;
    return profile.records() < LineRow::most_moves
               ? 0
               : static_cast<double>(profile.duration_ns()) * records / static_cast<double>(profile.records());
}

/// Findings are about lines whose calls or their work took long: of each, the stack that took most.
void Pass::watch() {
    constexpr std::size_t most_stacks = 1024, most_lines = 160;
    using Weighed = std::vector<std::pair<double, ids::StackId>>; // nanoseconds and stack
    const auto keep_longest = [](Weighed& list, std::size_t most) {
        const std::size_t kept = std::min(most, list.size());
        std::ranges::partial_sort(list, list.begin() + static_cast<std::ptrdiff_t>(kept),
                                  std::ranges::greater{});
        list.resize(kept);
    };
    if (reach(profile_) <= 0)
        return;
    std::unordered_map<ids::StackId, double> took; // by stack
    for (const auto& [site, ticks] : profile_.waits().ticks())
        took[site.stack] += length(ticks);
    for (const auto& [site, work] : profile_.device_work())
        took[site.stack] += work.device_ns;
    Weighed stacks;
    for (const auto& [stack, ns] : took)
        stacks.emplace_back(ns, stack);
    keep_longest(stacks, most_stacks);
    std::map<ids::StackId, std::pair<double, ids::StackId>> lines; // nanoseconds, and the first stack
    for (const auto& [ns, stack] : stacks)
        lines.try_emplace(symbolizer_.line_stack(stack), 0, stack).first->second.first += ns;
    Weighed longest;
    for (const auto& [line, weighed] : lines)
        longest.push_back(weighed);
    keep_longest(longest, most_lines);
    for (const auto& [ns, stack] : longest)
        watched_.insert(stack);
}

Worst* Pass::worst_of(ids::StackId stack) {
    if (!stack.known() || (out_.calls.size() >= most_worst && !out_.calls.contains(stack)))
        return nullptr;
    return &out_.calls[stack];
}

void Pass::note_worst(const Tag& tag, double begin, double call_length) {
    Worst& worst = *tag.worst;
    if (worst.last == 0)
        worst.first = begin;
    worst.last = begin + call_length;
    if (call_length > worst.length) {
        worst.length = call_length;
        worst.time = begin;
        if (worst.watched)
            closeups_.longest(tag.stack, begin, begin + call_length);
    }
}

void Pass::take_closeups() {
    for (const auto& [stack, closeup] : closeups_.finish()) {
        Detail& detail = out_.details[stack];
        detail.begin = closeup.begin;
        detail.end = closeup.end;
        detail.from = std::max(out_.span.begin, closeup.from);
        detail.until = std::min(out_.span.end, closeup.until);
        for (const Sight& sight : closeup.sights) {
            const Piece piece{sight.begin, sight.end, sight.state, sight.number};
            LineRow* const line = sight.of >= Sight::Of::stay ? &detail.lines[sight.row] : nullptr;
            switch (sight.of) {
            case Sight::Of::where:
                detail.causes[sight.row].push_back(piece);
                break;
            case Sight::Of::calls:
                detail.calls[sight.row].push_back(piece);
                break;
            case Sight::Of::work:
                detail.work[sight.row].push_back(piece);
                break;
            case Sight::Of::link:
                detail.link[sight.row].push_back({sight.begin, sight.end, static_cast<double>(sight.bytes)});
                break;
            case Sight::Of::stay:
                line->stays.push_back({sight.begin, sight.end, sight.number, sight.shares});
                line->parts.push_back(
                    sight.number < out_.lines[sight.row].parts.size()
                        ? out_.lines[sight.row].parts[sight.number]
                        : AllocationPart{sight.begin, sight.end, sight.bytes, sight.number, 0, 0, 0});
                break;
            case Sight::Of::move:
                line->moves.push_back({sight.begin, sight.bytes, sight.number, (sight.state & 1) != 0,
                                       static_cast<MoveCause>(sight.state >> 1)});
                break;
            case Sight::Of::launch:
                line->launches.emplace_back(sight.begin, sight.end);
                break;
            }
        }
        for (auto& [number, line] : detail.lines) {
            std::ranges::sort(line.parts, {}, &AllocationPart::number);
            const auto same = [](const AllocationPart& one, const AllocationPart& other) {
                return one.number == other.number;
            };
            line.parts.erase(std::unique(line.parts.begin(), line.parts.end(), same), line.parts.end());
        }
    }
}

} // namespace umadvisor::html
