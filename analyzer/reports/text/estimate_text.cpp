#include "analyzer/reports/text/estimate_text.hpp"

#include "analyzer/reports/completeness_text.hpp"
#include "analyzer/rules/unknown_work.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>

namespace umadvisor::reports {

using text::count_text;
using text::time_text;

namespace {

/// Why the clock may be inaccurate.
std::string off_because(const advice::Report& report) {
    if (!missing_lines(report.trace).empty())
        return "records are missing";
    if (rules::work_is_unknown(report.profile))
        return "the device did work that was not recorded";
    return "work of one kind took other times from round to round, or the device had work of others to do";
}

} // namespace

std::string bounds_text(const rules::Finding& finding) {
    constexpr double alike = 1.05;
    const double least = finding.saving_at_least_ns, most = finding.saving_at_most_ns;
    std::string text;
    if (least * alike < finding.saving_ns)
        text = least > 0 ? "only " + time_text(least) : "nothing";
    if (most > finding.saving_ns * alike)
        text += (text.empty() ? "" : " or ") + ("as much as " + time_text(most));
    const bool of_host = std::ranges::any_of(
        finding.edit.changes, [](const timeline::Change& change) { return change.less_after_share > 0; });
    return fmt::format("it may save {}, depending on {}, which the recorded calls do not show", text,
                       of_host ? "what the host does after these calls" : "when the device finished its work");
}

std::string together_text(const advice::Report& report) {
    const auto saves = [](const rules::Finding& finding) { return finding.saving_ns > 0; };
    const auto whole_ns = static_cast<double>(report.profile.net_ns());
    if (report.left_out != 0 || std::ranges::count_if(report.findings, saves) < 2 || whole_ns <= 0)
        return {};
    constexpr double adds_something = 1.01, overlap = 1.05;
    double sum_ns = 0;
    for (const rules::Finding& finding : report.findings)
        sum_ns += finding.saving_ns;
    const std::string_view why = report.together_ns < report.findings.front().saving_ns * adds_something
                                     ? "; after finding 1 the others save nothing more in this run"
                                 : sum_ns > report.together_ns * overlap ? "; some of them save the same time"
                                                                         : "";
    return fmt::format(
        "all findings together: {} -> about {}{}{}", time_text(whole_ns),
        time_text(std::max(0.0, whole_ns - report.together_ns)), why,
        report.together_at_most_ns > 0
            ? " (it saves " + text::open_saving_text(report.together_at_least_ns, report.together_at_most_ns) +
                  ": the recorded calls do not show how much)"
            : "");
}

std::string replay_text(const advice::Report& report) {
    const timeline::Accuracy& accuracy = report.profile.replay_accuracy();
    if (accuracy.hidden == 0 || report.profile.net_ns() == 0)
        return {};
    const double error = report.profile.replay_error();
    return fmt::format(
        "check of the estimates: a replay predicts {} of this run, off by {} of its time{}",
        count_text(accuracy.hidden, "wait"), text::percent_text(error),
        error > rules::most_replay_error ? "; savings are of low confidence: " + off_because(report) : "");
}

} // namespace umadvisor::reports
