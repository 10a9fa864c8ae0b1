#include "analyzer/reports/text/action_text.hpp"

#include "analyzer/reports/notice_text.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <ostream>

namespace umadvisor::reports {
namespace {

constexpr std::size_t most_places = 3; ///< that gained, and as many that lost

} // namespace

std::string action_text(const advice::Report& report, const tables::ActionTotals& totals,
                        const WastedBytes& wasted, const std::optional<double>& gain_ns) {
    std::string text = text::count_text(totals.count, "call");
    if (totals.failed != 0)
        text += fmt::format(" ({} failed)", totals.failed);
    const auto ns = static_cast<double>(report.profile.nanoseconds(totals.ticks));
    if (totals.bytes != 0)
        text += fmt::format(", {}", text::bytes_text(totals.bytes));
    text += fmt::format(", {} in calls", text::time_text(ns));
    if (wasted.sum() != 0)
        text += fmt::format("; {} of it without use", text::bytes_text(wasted.sum()));
    if (gain_ns)
        text += fmt::format("{} about {}", *gain_ns < 0 ? "; lost" : "; saved",
                            text::time_text(*gain_ns < 0 ? -*gain_ns : *gain_ns));
    return text;
}

std::vector<const ActionPlace*> known_places(const ActionLine& line) {
    std::vector<const ActionPlace*> told;
    const std::size_t count = line.places.size();
    for (std::size_t i = 0; i < count; ++i) {
        const bool lost = line.places[i].gain_ns.value_or(0) < 0;
        if (lost ? count - i <= most_places : i < most_places)
            told.push_back(&line.places[i]);
    }
    return told;
}

void write_actions(advice::Report& report, std::ostream& out) {
    if (!has_actions(report))
        return;
    out << "\nWhat umadvisor did\n";
    for (const ActionLine& line : action_lines(report)) {
        out << "    " << tables::text_of(line.kind).title << ": "
            << action_text(report, line.totals, line.wasted, line.gain_ns) << "\n";
        out << "        " << (line.gain_ns ? "from " : "") << line.basis << "\n";
        for (const ActionPlace* const place : known_places(line))
            out << "        "
                << (place->stack.known() ? report.symbolizer.line(place->stack).text() : "no stack recorded")
                << "   " << action_text(report, place->totals, place->wasted, place->gain_ns) << "\n";
    }
    for (const trace::Notice& notice : report.trace.dictionary.notices)
        if (is_action_notice(notice))
            out << "    ! " << notice_text(report, notice) << "\n";
}

} // namespace umadvisor::reports
