#include "analyzer/reports/range_lines.hpp"

#include "analyzer/reader/shown_name.hpp"
#include "analyzer/reports/place_json.hpp"
#include "analyzer/rules/words.hpp"
#include "analyzer/tables/named_ranges.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

namespace umadvisor::reports {
namespace {

using tables::RangeTimes;
using tables::RangeTotals;
using text::time_text;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t least_steps = 3;
constexpr double least_share = 0.5; ///< of the time, for a line in the head of a report
constexpr std::size_t most_listed = 64, longest_name = 60;
/// A worst step that exceeds the median by less than this is like the others: nothing is named.
constexpr double clearly_longer = 1.2;

std::string shown(const advice::Report& report, std::uint64_t string, std::size_t longest) {
    return reader::shown_name(report.trace.dictionary.string(string), longest);
}

bool is_asked_for(const advice::Report& report, const RangeTotals& totals) {
    const reader::Dictionary& dictionary = report.trace.dictionary;
    return report.trace.choice() == nullptr
               ? !reader::is_library_domain(dictionary.string(totals.domain)) &&
                     dictionary.string(totals.text).find(":#") == std::string_view::npos // XLA's passes
               : report.trace.choice()->has(totals.text, totals.domain);
}

/// nullptr: none recurs and takes most of the time.
const RangeTotals* steps_of(const advice::Report& report) {
    const RangeTotals* best = nullptr;
    const auto whole_ns = static_cast<double>(report.profile.net_ns());
    for (const auto& [key, totals] : report.profile.ranges().names()) {
        if (totals.count < least_steps || totals.total.all_ns < least_share * whole_ns ||
            !is_asked_for(report, totals))
            continue;
        if (best == nullptr ||
            std::tuple(best->depth, -best->total.all_ns) > std::tuple(totals.depth, -totals.total.all_ns))
            best = &totals;
    }
    return best;
}

/// What the worst step has more of than the median one, and in which call.
std::string why_text(advice::Report& report, const RangeTotals& steps, const RangeTimes& median) {
    const RangeTimes& worst = steps.worst;
    struct Part {
        double ns;
        const char* text;
        bool in_calls;
    };
    const std::array parts{Part{worst.wait_ns - median.wait_ns, "waiting for the device", true},
                           Part{worst.copy_ns - median.copy_ns, "in copies", true},
                           Part{worst.call_ns - median.call_ns, "in other CUDA calls", true},
                           Part{worst.own_ns() - median.own_ns(), "in the program's own code", false}};
    const Part& most = *std::ranges::max_element(parts, {}, &Part::ns);
    if (worst.all_ns < clearly_longer * median.all_ns || most.ns <= 0)
        return {};
    std::string text = fmt::format(": {} more {}", time_text(most.ns), most.text);
    if (most.in_calls && steps.longest_ns * 2 > most.ns) {
        const ids::StackId stack = steps.longest.stack.plain();
        text += fmt::format(", {} in one {}{}", time_text(steps.longest_ns),
                            report.profile.call_name(steps.longest.entry),
                            stack.known() ? " at " + report.symbolizer.line(stack).text() : "");
    }
    if (worst.host_faults > 2 * median.host_faults + 10)
        text += fmt::format(", {} of the host more",
                            text::count_text(worst.host_faults - median.host_faults, "page fault"));
    return text;
}

Json times_json(const RangeTimes& times) {
    return {{"wait_ns", times.wait_ns},
            {"copy_ns", times.copy_ns},
            {"call_ns", times.call_ns},
            {"own_ns", times.own_ns()},
            {"host_faults", times.host_faults}};
}

} // namespace

std::string steps_text(advice::Report& report) {
    const RangeTotals* const steps = steps_of(report);
    if (steps == nullptr)
        return {};
    const RangeTimes median = steps->median();
    return fmt::format("\"{}\" x {}, median {}, worst {} (step {}{})", shown(report, steps->text, longest_name),
                       steps->count, time_text(median.all_ns), time_text(steps->worst.all_ns),
                       steps->worst_index, why_text(report, *steps, median));
}

std::string looked_at_text(const advice::Report& report) {
    if (!report.profile.inside())
        return {};
    const reader::RangeQuery& query = report.trace.choice()->query();
    const double ns = static_cast<double>(report.profile.nanoseconds(report.profile.inside()->ticks));
    std::string text = fmt::format("only ranges called \"{}\"", reader::shown_name(query.name, longest_name));
    if (!query.domain.empty())
        text += fmt::format(" in the domain \"{}\"", reader::shown_name(query.domain, longest_name));
    text += fmt::format(": {}, {} of {}", report.profile.inside()->times, time_text(ns),
                        time_text(report.profile.duration_ns()));
    if (report.profile.inside()->times > 1 && report.together_ns > 0)
        text +=
            fmt::format("; all findings save {} of each",
                        time_text(report.together_ns / static_cast<double>(report.profile.inside()->times)));
    return text;
}

Json looked_at_json(const advice::Report& report) {
    if (!report.profile.inside())
        return nullptr;
    const reader::RangeQuery& query = report.trace.choice()->query();
    return {{"name", query.name},
            {"domain", query.domain.empty() ? Json() : Json(query.domain)},
            {"count", report.profile.inside()->times},
            {"time_ns", report.profile.nanoseconds(report.profile.inside()->ticks)}};
}

Json ranges_json(advice::Report& report) {
    std::vector<const RangeTotals*> all;
    for (const auto& [key, totals] : report.profile.ranges().names())
        if (totals.count != 0)
            all.push_back(&totals);
    std::ranges::stable_sort(all, std::ranges::greater{},
                             [](const RangeTotals* totals) { return totals->total.all_ns; });
    if (all.size() > most_listed)
        all.resize(most_listed);
    Json list = Json::array();
    for (const RangeTotals* const totals : all) {
        const RangeTimes median = totals->median();
        Json object{{"name", shown(report, totals->text, reader::longest_shown_name)},
                    {"domain", shown(report, totals->domain, reader::longest_shown_name)},
                    {"count", totals->count},
                    {"total_ns", totals->total.all_ns},
                    {"median_ns", median.all_ns},
                    {"worst_ns", totals->worst.all_ns},
                    {"worst_index", totals->worst_index},
                    {"total", times_json(totals->total)},
                    {"median", times_json(median)},
                    {"worst", times_json(totals->worst)},
                    {"worst_call", nullptr}};
        if (totals->longest_ns > 0)
            object["worst_call"] = {{"call", report.profile.call_name(totals->longest.entry)},
                                    {"time_ns", totals->longest_ns},
                                    {"line", place_json(report, totals->longest.stack.plain())}};
        list.push_back(std::move(object));
    }
    return list;
}

} // namespace umadvisor::reports
