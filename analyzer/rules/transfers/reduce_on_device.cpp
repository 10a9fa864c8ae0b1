/// UMA-129: results come down in each round, the host works on them while the device waits, and nothing of
/// their size goes up again.
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/sync/host_steps.hpp"
#include "analyzer/rules/unified/managed_edits.hpp"
#include "analyzer/rules/unknown_work.hpp"
#include "analyzer/rules/words.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace umadvisor::rules {
namespace {

/// Fewer steps may lie between phases of the program.
constexpr std::uint64_t least_steps = 10;
/// A step that holds up less of the run is not worth a question to which the calls have no answer.
constexpr double least_of_run = 0.1;
/// No call shows what the host makes of the bytes. Of public programs with this pattern, about two in three
/// reduce.
constexpr double likely_share = 2.0 / 3;

struct StepLine {
    std::uint64_t downloads = 0, bytes = 0, steps = 0, elsewhere = 0, looked = 0, same = 0, entry = 0;
    double host_ns = 0, call_ns = 0;
    ids::StackId next_stack{};
    WorkSites downloaded_from;

    /// Mostly such steps, on results that no other call still has: others take their place, and differ.
    bool is_fault() const {
        return steps >= least_steps && 10 * steps >= 9 * downloads && 4 * elsewhere <= downloads &&
               10 * same <= looked && host_ns >= call_ns;
    }
};

std::optional<Finding> describe_step(const Profile& profile, ids::StackId, const StepLine& line) {
    if (!line.is_fault() || line.host_ns < least_of_run * static_cast<double>(profile.net_ns()))
        return std::nullopt;
    const auto steps = static_cast<double>(line.steps);
    Finding finding;
    finding.summary =
        fmt::format("{}; after each of {} the device waits {} for the host, which uploads nothing of that size",
                    copies_text(profile, line.entry, static_cast<double>(line.bytes), line.downloads),
                    count_text(line.steps, "download"), time_text(line.host_ns / steps));
    finding.evidence = {{"downloads", static_cast<double>(line.downloads)},
                        {"bytes", static_cast<double>(line.bytes)},
                        {"steps", steps},
                        {"host_ns", line.host_ns},
                        {"call_ns", line.call_ns}};
    if (line.next_stack.known())
        finding.places.emplace_back("the device gets its next work here", line.next_stack);
    finding.advice = "if the host sums, counts or searches these results, do that in a kernel "
                     "(cub::DeviceReduce, thrust::reduce, atomics) and download only the outcome; results that "
                     "the host must have: copy them on a second stream to two page-locked buffers in turn, and "
                     "work on each one step later";
    finding.saving_at_most_ns = line.host_ns;
    finding.statement_ns = line.host_ns + line.call_ns;
    finding.saving_ns = likely_share * line.host_ns;
    finding.edit = lighter_work(profile, line.downloaded_from, {.host_ns = finding.saving_ns});
    finding.basis = "two thirds of the host's time after these downloads, the downloads themselves excluded: "
                    "the calls do not show what the host does with the bytes";
    finding.confidence = Confidence::low;
    return finding;
}

std::vector<Finding> find_host_steps(const Profile& profile, const LineOf& line_of) {
    if (work_is_unknown(profile))
        return {};
    std::map<ids::StackId, StepLine> lines;
    for (const auto& [site, totals] : profile.counted<HostSteps>().sites()) {
        StepLine& line = lines[line_of(site.stack)];
        line.downloads += totals.downloads;
        line.bytes += totals.bytes;
        line.steps += totals.steps;
        line.elsewhere += totals.elsewhere;
        line.looked += totals.looked;
        line.same += totals.same;
        line.entry = site.entry;
        line.host_ns += static_cast<double>(profile.nanoseconds(totals.host_ticks));
        line.call_ns += static_cast<double>(profile.nanoseconds(totals.call_ticks));
        if (totals.next_stack.known())
            line.next_stack = totals.next_stack;
        line.downloaded_from.launches.insert(site.stack);
    }
    return judge_lines(uma_129, profile, lines, describe_step);
}

} // namespace

constinit const Rule uma_129{.id = "UMA-129",
                             .name = "reduce-on-device",
                             .title = "large results downloaded for the host to reduce",
                             .find = &find_host_steps,
                             .counter = &count<HostSteps>,
                             .fits = Fits::separate_memory,
                             .replaces_copies = true};

} // namespace umadvisor::rules
