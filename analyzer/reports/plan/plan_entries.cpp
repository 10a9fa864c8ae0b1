#include "analyzer/reports/plan/plan_entries.hpp"

#include "analyzer/rules/words.hpp"

#include <cstdio>

namespace umadvisor::reports {
namespace {

constexpr std::uint64_t fewest_calls = 4; ///< before a call site is judged

} // namespace

std::string key_text(std::uint64_t key) {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(key));
    return text;
}

std::uint64_t stack_key(const advice::Report& report, ids::StackId stack) {
    const auto& frames = report.trace.dictionary.frames;
    const auto found = frames.find(stack.number());
    return found == frames.end() ? 0 : found->second.key;
}

std::string plan_line(advice::Report& report, ids::StackId stack) {
    return stack.known() ? report.symbolizer.line(stack).text() : "";
}

nlohmann::ordered_json never_entry(advice::Report& report, ids::StackId stack, std::string_view why) {
    return {{"key", key_text(stack_key(report, stack))}, {"line", plan_line(report, stack)}, {"why", why}};
}

void add_losses(advice::Report& report, PlanNever& never) {
    for (const ActionLine& line : action_lines(report)) {
        const tables::ActionText& action = tables::text_of(line.kind);
        if (action.noun.empty())
            continue;
        for (const ActionPlace& place : line.places) {
            const std::uint64_t key = stack_key(report, place.stack);
            if (key != 0 && place.totals.count >= fewest_calls && place.gain_ns.value_or(0) < 0)
                never[index_of(action.mode)][key] = never_entry(
                    report, place.stack,
                    fmt::format("its {} lost about {}", text::count_text(place.totals.count, action.noun),
                                text::time_text(-*place.gain_ns)));
        }
    }
}

} // namespace umadvisor::reports
