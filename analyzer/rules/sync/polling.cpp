/// Streams and events that are asked again and again whether they are done.
#include "analyzer/rules/edited_calls.hpp"
#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/words.hpp"

#include <map>

namespace umadvisor::rules {
namespace {

constexpr std::uint64_t least_in_vain = 1000;
constexpr std::uint64_t least_in_vain_share = 10; ///< queries in vain for one that was not

struct PollLine {
    std::uint64_t queries = 0, in_vain = 0, entry = 0;
    double in_vain_ns = 0, between_ns = 0;
    EditedCalls calls;

    /// The host had something else to do, and the queries held it up. Where it does nothing but ask, nothing is
    /// done sooner without them.
    bool held_up() const { return between_ns > in_vain_ns; }
};

Finding describe_polling(const Profile& profile, std::uint64_t stack, const PollLine& line) {
    Finding finding;
    finding.rule = &uma_504;
    finding.title = finding.rule->title;
    finding.stack = stack;
    finding.summary = profile.call_name(line.entry) + " " + std::to_string(line.in_vain) + " of " +
                      std::to_string(line.queries) + " times before the device was done: " +
                      time_text(line.in_vain_ns / static_cast<double>(line.in_vain)) + " a call, " +
                      time_text(line.in_vain_ns) + " in all";
    finding.evidence = {{"queries", static_cast<double>(line.queries)},
                        {"not_ready", static_cast<double>(line.in_vain)},
                        {"time_ns", line.in_vain_ns},
                        {"between_ns", line.between_ns}};
    finding.advice =
        "ask seldom, or not at all: cudaEventRecord(event, stream) behind the work, on an event made with "
        "cudaEventBlockingSync, and cudaEventSynchronize(event) where the result is needed; or "
        "cudaLaunchHostFunc for what is to follow";
    finding.saving_ns = line.in_vain_ns;
    finding.edit = line.calls.gone(profile);
    finding.basis = "replay of the run without the queries in vain, which came between the host's own work";
    finding.confidence = Confidence::medium;
    return finding;
}

} // namespace

std::vector<Finding> find_polling(const Profile& profile, const LineOf& line_of) {
    std::map<std::uint64_t, PollLine> lines;
    for (const auto& [site, totals] : profile.polls().sites()) {
        PollLine& line = lines[line_of(site.stack)];
        line.queries += totals.queries;
        line.in_vain += totals.not_ready;
        line.calls.add(site, totals.not_ready, totals.queries);
        line.entry = site.entry;
        line.in_vain_ns += static_cast<double>(profile.nanoseconds(totals.not_ready_ticks));
        line.between_ns += static_cast<double>(profile.nanoseconds(totals.between_ticks));
    }
    std::vector<Finding> findings;
    for (const auto& [stack, line] : lines)
        if (line.in_vain >= least_in_vain && line.held_up() && line.in_vain_ns >= least_saving_ns &&
            line.in_vain >= least_in_vain_share * (line.queries - line.in_vain))
            findings.push_back(describe_polling(profile, stack, line));
    return findings;
}

constinit const Rule uma_504{.id = "UMA-504",
                             .name = "polling",
                             .title = "streams or events asked again and again",
                             .find = &find_polling,
                             .order = OrderUse::none};

} // namespace umadvisor::rules
