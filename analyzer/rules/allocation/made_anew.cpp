/// Executable graphs, mapped ranges, streams and events that one line makes and gives up in every round. The
/// price is what these calls took by themselves; what one of them waited for is left out.
#include "analyzer/rules/allocation/churn_lines.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace umadvisor::rules {
namespace {

/// A rule's words for what is made.
struct ChurnWords {
    std::string_view what, end_place, advice, basis;
};

constexpr std::string_view usual_churn_basis =
    "time of these calls (waits for the device excluded) minus that of one round, which is still needed";

Finding describe_made(const Profile& profile, const ChurnLine& line, const ChurnWords& words) {
    const auto pairs = static_cast<double>(line.pairs);
    Finding finding = churn_finding(profile, line, words.end_place);
    finding.summary =
        fmt::format("{} and {}{}, {} times, each kept for {}: {} to create them and {} to destroy them",
                    profile.call_name(line.entry), profile.call_name(line.free_entry), words.what, line.pairs,
                    time_text(line.lifetime_ns / pairs), time_text(line.alloc_ns + line.upkeep_ns),
                    time_text(line.free_ns));
    finding.evidence = {{"pairs", pairs},
                        {"peak_live", static_cast<double>(line.peak_live)},
                        {"kept_time_ns", line.kept_ns},
                        {"make_time_ns", line.alloc_ns + line.upkeep_ns},
                        {"end_time_ns", line.free_ns},
                        {"mean_lifetime_ns", line.lifetime_ns / pairs}};
    finding.advice = words.advice;
    finding.basis = words.basis;
    return finding;
}

/// A graph update may change the nodes' parameters, but not their number, kinds or order. A line whose graphs
/// differ in that has one shape a round, and nothing to save.
Finding describe_graphs(const Profile& profile, ids::StackId, const ChurnLine& line) {
    const auto pairs = static_cast<double>(line.pairs);
    const bool alike = line.alike + line.peak_live >= line.pairs;
    const std::string nodes =
        " of " + count_text(static_cast<std::uint64_t>(static_cast<double>(line.bytes) / pairs + 0.5), "node");
    Finding finding = describe_made(
        profile, line,
        {nodes, "destroyed here",
         alike ? "instantiate the graph once, before the loop, and launch it in each round; where arguments "
                 "change, call cudaGraphExecUpdate(exec, graph, &result) instead of cudaGraphInstantiate"
               : "keep the executable graph: call cudaGraphExecUpdate(exec, graph, &result) with the new graph "
                 "instead of cudaGraphExecDestroy and cudaGraphInstantiate; where only kernel parameters "
                 "change, cudaGraphExecKernelNodeSetParams needs no new graph",
         "time of these calls (waits for the device excluded) minus that of one round, which is still needed; "
         "the cost of updates is not subtracted, and building and capturing the graphs is not counted"});
    finding.summary += fmt::format("; launched {} times in all", line.uses);
    finding.evidence.insert(finding.evidence.end(), {{"nodes", static_cast<double>(line.bytes) / pairs},
                                                     {"launches", static_cast<double>(line.uses)},
                                                     {"capture_time_ns", line.built_ns}});
    if (line.built_ns >= least_saving_ns)
        finding.details.push_back("capturing the graphs took " + time_text(line.built_ns) +
                                  " more; launching the same graph again saves that, too");
    finding.confidence = alike ? Confidence::high : Confidence::medium;
    return finding;
}

Finding describe_maps(const Profile& profile, ids::StackId, const ChurnLine& line) {
    const auto pairs = static_cast<double>(line.pairs);
    const std::string bytes = " of " + bytes_text(static_cast<double>(line.bytes) / pairs) + " on average";
    Finding finding =
        describe_made(profile, line,
                      {bytes, "unmapped here",
                       "keep the range mapped across rounds; where it must be mapped again, use few large "
                       "pieces (cuMemCreate) and one cuMemSetAccess for the whole range",
                       "time of cuMemCreate, cuMemMap, cuMemSetAccess, cuMemUnmap and cuMemRelease minus that "
                       "of one round, which is still needed"});
    finding.evidence.insert(finding.evidence.end(), {{"bytes", static_cast<double>(line.bytes)},
                                                     {"access_calls", static_cast<double>(line.upkeep_calls)}});
    return finding;
}

Finding describe_streams(const Profile& profile, ids::StackId, const ChurnLine& line) {
    return describe_made(profile, line,
                         {"", "destroyed here",
                          "create them once, before the loop, and reuse them in each round",
                          usual_churn_basis});
}

template <const Rule& rule, auto describe, Made... kinds>
std::vector<Finding> find_made(const Profile& profile, const LineOf& line_of) {
    std::vector<Finding> findings;
    for (const Made made : {kinds...})
        std::ranges::move(judge_lines(rule, profile, churn_lines(profile, line_of, {made}), describe),
                          std::back_inserter(findings));
    return findings;
}

} // namespace

constinit const Rule uma_411{.id = "UMA-411",
                             .name = "graph-churn",
                             .title = "executable graphs instantiated in each round",
                             .find = &find_made<uma_411, describe_graphs, Made::graph>,
                             .counter = &count<Churn>};

constinit const Rule uma_412{.id = "UMA-412",
                             .name = "map-churn",
                             .title = "memory mapped again in each round",
                             .find = &find_made<uma_412, describe_maps, Made::mapping>,
                             .counter = &count<Churn>,
                             .order = OrderUse::kept_memory};

constinit const Rule uma_413{.id = "UMA-413",
                             .name = "stream-churn",
                             .title = "streams or events created in each round",
                             .find = &find_made<uma_413, describe_streams, Made::stream, Made::event>,
                             .counter = &count<Churn>,
                             .same_calls_as = &uma_418};

} // namespace umadvisor::rules
