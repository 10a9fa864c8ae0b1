/// Waits though the host reads nothing of what they wait for: launches that could queue up wait for each other.
#include "analyzer/rules/edited_calls.hpp"
#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/python/python_statements.hpp"
#include "analyzer/rules/untold_work.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <map>

namespace umadvisor::rules {
namespace {

struct NeedlessLine {
    std::uint64_t count = 0, needless = 0, entry = 0;
    double ns = 0;
    bool event = false;
};

Finding describe(const Profile& profile, const std::map<std::uint64_t, NeedlessLine>& lines) {
    NeedlessLine all;
    const auto longest = std::ranges::max_element(lines, {}, [](const auto& each) { return each.second.ns; });
    bool events = true;
    for (const auto& [stack, line] : lines) {
        all.count += line.count;
        all.needless += line.needless;
        all.ns += line.ns;
        events &= line.event;
    }
    Finding finding;
    finding.rule = &uma_506;
    finding.title = finding.rule->title;
    finding.stack = longest->first;
    finding.summary = profile.call_name(longest->second.entry) + " and others, " +
                      count_text(all.needless, "time") + " at " + count_text(lines.size(), "line") +
                      ": what they wait for stays on the device, and the next call follows at once; " +
                      time_text(all.ns) + " in these waits";
    if (lines.size() == 1)
        finding.summary = profile.call_name(longest->second.entry) + " " + count_text(all.needless, "time") +
                          ": what it waits for stays on the device, and the next call follows at once; " +
                          time_text(all.ns) + " in these waits";
    finding.evidence = {{"synchronizations", static_cast<double>(all.count)},
                        {"needless", static_cast<double>(all.needless)},
                        {"lines", static_cast<double>(lines.size())},
                        {"time_ns", all.ns}};
    if (events)
        finding.details.push_back(
            "if these events are for timing only: read their times once, behind the last");
    for (const auto& [stack, line] : lines)
        if (stack != finding.stack)
            finding.places.emplace_back(count_text(line.needless, "wait") + ", " + time_text(line.ns), stack);
    finding.advice =
        "leave these waits out: a stream keeps the order of its work, and the copy that brings the "
        "result waits by itself";
    finding.basis = "replay of the run without these waits";
    finding.confidence = Confidence::medium;
    return finding;
}

} // namespace

std::vector<Finding> find_sync_each_launch(const Profile& profile, const LineOf& line_of) {
    if (work_is_untold(profile))
        return {};
    std::map<std::uint64_t, NeedlessLine> lines;
    EditedCalls calls;
    for (const auto& [site, totals] : profile.needless_waits().sites()) {
        // The statement that uploads a constant goes with its wait, which is the framework's.
        if (totals.needless == 0 || waits_for_constant_upload(profile, site))
            continue;
        NeedlessLine& line = lines[line_of(site.stack)];
        line.count += totals.count;
        line.needless += totals.needless;
        line.entry = site.entry;
        line.ns += static_cast<double>(profile.nanoseconds(totals.needless_ticks));
        line.event = totals.event;
        calls.add(site, totals.needless, totals.count);
    }
    double all_ns = 0;
    for (const auto& [stack, line] : lines)
        all_ns += line.ns;
    if (all_ns < least_saving_ns)
        return {};
    Finding finding = describe(profile, lines);
    finding.saving_ns = all_ns;
    finding.edit = calls.gone(profile);
    return {std::move(finding)};
}

constinit const Rule uma_506{.id = "UMA-506",
                             .name = "sync-each-launch",
                             .title = "waits for results that the host does not read",
                             .find = &find_sync_each_launch,
                             .order = OrderUse::wait};

} // namespace umadvisor::rules
