#include "analyzer/reports/html/timeline/steps.hpp"

#include <algorithm>
#include <map>

namespace umadvisor::html {
namespace {

constexpr std::size_t most_steps = 20'000, most_rounds = 1 << 16;

} // namespace

void Steps::add(const trace::Range& record, std::uint32_t thread, double time, double end_of_run) {
    if (thread >= open_.size())
        open_.resize(thread + 1);
    std::vector<std::size_t>& open = open_[thread];
    constexpr std::size_t deepest = 2;
    if (record.action == trace::RangeAction::push) {
        if (open.size() < deepest && ranges_.size() < most_steps) {
            open.push_back(ranges_.size());
            ranges_.push_back(
                {time, end_of_run, record.text, static_cast<std::uint32_t>(open.size() - 1) | thread << 8});
        } else {
            open.push_back(SIZE_MAX);
        }
    } else if (record.action == trace::RangeAction::pop && !open.empty()) {
        if (open.back() != SIZE_MAX)
            ranges_[open.back()].end = time;
        open.pop_back();
    }
}

void Steps::launched(Rounds& rounds, double time) {
    ++rounds.count;
    if (kept_ < most_rounds) {
        rounds.times.push_back(time);
        ++kept_;
    }
}

/// Those of one thread: the one with the most.
bool Steps::finish_ranges(Timeline& timeline) {
    if (ranges_.empty())
        return false;
    std::map<std::uint32_t, std::size_t> counts;
    for (const StepPiece& step : ranges_)
        ++counts[step.depth >> 8];
    const auto most = std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
    std::erase_if(ranges_, [&](const StepPiece& step) { return step.depth >> 8 != most->first; });
    for (StepPiece& step : ranges_)
        step.depth &= 0xff;
    timeline.steps = std::move(ranges_);
    return true;
}

void Steps::finish(Timeline& timeline, symbols::Symbolizer& symbolizer) {
    timeline.named_steps = finish_ranges(timeline);
    if (timeline.named_steps)
        return;
    // Several call paths may reach a line.
    std::map<ids::StackId, Rounds> by_line;
    for (const auto& [stack, rounds] : rounds_) {
        Rounds& line = by_line[stack.known() ? symbolizer.line_stack(stack) : ids::StackId()];
        line.count += rounds.count;
        line.times.insert(line.times.end(), rounds.times.begin(), rounds.times.end());
    }
    std::uint64_t best = 0;
    std::vector<double>* times = nullptr;
    for (auto& [line, rounds] : by_line)
        if (rounds.count == rounds.times.size() && rounds.count > best) {
            best = rounds.count;
            timeline.step_stack = line;
            times = &rounds.times;
        }
    constexpr std::size_t fewest = 3;
    if (times == nullptr || times->size() < fewest)
        return;
    std::ranges::sort(*times);
    std::vector<StepPiece>& steps = timeline.steps;
    for (std::size_t i = 0; i < times->size() && i < most_steps; ++i)
        steps.push_back({(*times)[i], i + 1 < times->size() ? (*times)[i + 1] : timeline.span.end, 0, 0});
    steps.back().end =
        std::min(timeline.span.end, steps.back().begin + (times->back() - times->front()) /
                                                             static_cast<double>(times->size() - 1));
}

} // namespace umadvisor::html
