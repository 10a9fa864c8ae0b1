/// Synchronisations when nothing has been queued since the last one.
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/sync/idle_syncs.hpp"
#include "analyzer/rules/unknown_work.hpp"
#include "analyzer/rules/words.hpp"

#include <map>
#include <utility>

namespace umadvisor::rules {
namespace {

constexpr std::uint64_t least_redundant = 100;

struct SyncLine {
    std::uint64_t count = 0, redundant = 0, entry = 0, most = 0;
    ids::StackId covered_by;
    double redundant_ns = 0;
    EditedCalls calls;
};

using SyncKey = std::pair<ids::StackId, std::uint64_t>; ///< line, entry

std::optional<Finding> describe_sync(const Profile& profile, const SyncKey& key, const SyncLine& line) {
    if (line.redundant < least_redundant)
        return std::nullopt;
    const ids::StackId stack = key.first;
    const auto redundant = static_cast<double>(line.redundant);
    Finding finding;
    finding.summary = fmt::format(
        "{} {} of {} times with nothing queued since the synchronisation before it: {} a call, {} in all",
        profile.call_name(line.entry), line.redundant, line.count, time_text(line.redundant_ns / redundant),
        time_text(line.redundant_ns));
    finding.evidence = {{"synchronizations", static_cast<double>(line.count)},
                        {"redundant", redundant},
                        {"time_ns", line.redundant_ns}};
    if (line.covered_by.known() && line.covered_by != stack)
        finding.places.emplace_back("had already waited for everything", line.covered_by);
    // The first of a run of them may be the one that waits.
    const bool always = line.redundant + 1 >= line.count;
    finding.advice = always ? "leave it out" : "synchronise only where work was queued";
    if (always)
        finding.code_edits = {{EditKind::remove, profile.call_name(line.entry), stack}};
    finding.saving_ns = line.redundant_ns;
    finding.edit = line.calls.gone(profile);
    finding.basis = "time of these calls";
    finding.confidence = always ? Confidence::medium : Confidence::low;
    return finding;
}

} // namespace

std::vector<Finding> find_redundant_syncs(const Profile& profile, const LineOf& line_of) {
    if (work_is_unknown(profile))
        return {};
    std::map<SyncKey, SyncLine> lines;
    for (const auto& [site, totals] : profile.counted<IdleSyncs>().sites()) {
        SyncLine& line = lines[{line_of(site.stack), site.entry}];
        line.count += totals.count;
        line.calls.add(site, totals.redundant, totals.count);
        line.redundant += totals.redundant;
        line.redundant_ns += static_cast<double>(profile.nanoseconds(totals.redundant_ticks));
        line.entry = site.entry;
        if (totals.redundant > line.most) {
            line.most = totals.redundant;
            line.covered_by = totals.covered_by;
        }
    }
    return judge_lines(uma_501, profile, lines, describe_sync);
}

constinit const Rule uma_501{.id = "UMA-501",
                             .name = "redundant-sync",
                             .title = "synchronisations with nothing to wait for",
                             .find = &find_redundant_syncs,
                             .counter = &count<IdleSyncs>,
                             .order = OrderUse::wait,
                             .keeps_needed_calls = true};

} // namespace umadvisor::rules
