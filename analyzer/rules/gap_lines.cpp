#include "analyzer/rules/gap_lines.hpp"

#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/unknown_work.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <map>

namespace umadvisor::rules {
namespace {

/// Fewer gaps may lie between phases of the program.
constexpr std::uint64_t least_gaps = 5;
/// A host that queues as many launches and copies before it waits for results does run ahead: it waits for
/// those of many steps at once, as for a checkpoint.
constexpr std::uint64_t many_steps = 128;

Finding gap_finding(const Profile& profile, const Rule& rule, const GapLine& line) {
    Finding finding;
    finding.evidence = {{"waits", static_cast<double>(line.gaps)},
                        {"waited_ns", line.waited_ns},
                        {"device_idle_ns", line.idle_ns}};
    if (line.next_stack.known())
        finding.places.emplace_back("the device gets its next work here", line.next_stack);
    const bool needed = &rule == &uma_505;
    if (&rule == &uma_503 && !line.frees) { // the rest of such a copy is for other rules
        finding.saving_ns = line.overlap_ns;
        finding.basis = "the shorter of each wait and the gap after it, as recorded: when both overlap, only "
                        "the longer remains";
        return finding;
    }
    // With two sets of buffers the host waits for results a round later: a gap hides no more than one wait. The
    // host never waits for what it does not need: a long gap may make up for a short one before it, and work
    // after the last wait hides that wait.
    EditedCalls calls = line.calls;
    if (needed)
        calls.add(line.behind);
    finding.saving_ns = needed ? line.overlap_ns : line.turn_ns;
    finding.edit = calls.asynchronous(profile, needed);
    finding.basis = needed ? "replay of the run without these waits; at most the shorter of each wait and the "
                             "gap after it, because each result is needed one round later"
                           : "replay of the run without these waits";
    return finding;
}

} // namespace

std::string turns_text(const Profile& profile, const GapLine& line) {
    return fmt::format("{} {}: the host waited {} for the device, and the device then {} for the host",
                       profile.call_name(line.entry), count_text(line.gaps, "time"), time_text(line.waited_ns),
                       time_text(line.idle_ns));
}

std::vector<Finding> find_gaps(const Profile& profile, const LineOf& line_of, const Rule& rule,
                               std::initializer_list<WaitReason> reasons, DescribeGap describe) {
    if (work_is_unknown(profile))
        return {};
    const auto& sites = profile.counted<IdleGaps>().sites();
    std::map<ids::CallSite, std::uint64_t> calls;
    for (const auto& [site, totals] : sites)
        calls[site.call] += totals.calls;
    std::map<ids::StackId, GapLine> lines;
    for (const auto& [site, totals] : sites) {
        if (std::ranges::find(reasons, site.reason) == reasons.end())
            continue;
        GapLine& line = lines[line_of(site.call.stack)];
        line.gaps += totals.gaps;
        line.queued += totals.queued;
        line.turn_ns += static_cast<double>(profile.nanoseconds(totals.turn_ticks));
        line.frees &= site.reason == WaitReason::freed;
        line.inputs &= site.reason == WaitReason::inputs;
        if (site.reason != WaitReason::results && site.reason != WaitReason::unasked)
            line.calls.add(site.call, totals.calls, calls[site.call]); // the remedy changes them all
        else
            line.calls.add(site.call, totals.gaps);
        for (const ids::CallSite& call : totals.behind)
            line.behind.add(call, 1);
        line.entry = site.call.entry;
        if (totals.next_stack.known())
            line.next_stack = totals.next_stack;
        line.waited_ns += static_cast<double>(profile.nanoseconds(totals.waited_ticks));
        line.idle_ns += static_cast<double>(profile.nanoseconds(totals.idle_ticks));
        line.overlap_ns += static_cast<double>(profile.nanoseconds(totals.overlap_ticks));
    }
    const auto judge = [&](const Profile&, ids::StackId, const GapLine& line) -> std::optional<Finding> {
        if (line.gaps < least_gaps || line.overlap_ns < least_saving_ns ||
            (&rule == &uma_505 && line.queued >= many_steps * line.gaps))
            return std::nullopt;
        Finding finding = gap_finding(profile, rule, line);
        describe(profile, line, finding);
        return finding;
    };
    return judge_lines(rule, profile, lines, judge, 0);
}

} // namespace umadvisor::rules
