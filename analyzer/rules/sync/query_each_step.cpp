/// Queries of the driver that a program makes in every round, and whose answers it could keep.
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/words.hpp"

#include <string>
#include <string_view>

namespace umadvisor::rules {
namespace {

/// Fewer queries do not show a loop, and a smaller share of the run is not worth a cache of answers.
constexpr std::uint64_t least_queries = 100;
constexpr double least_query_share = 0.01;

std::string query_advice(std::string_view entry) {
    if (entry.find("MemGetInfo") != std::string_view::npos)
        return "query once, before the loop, and keep the result: free memory changes only by the program's "
               "own allocations and frees, and by other processes; query again where an allocation failed";
    if (entry.find("Pointer") != std::string_view::npos)
        return "store a pointer's attributes beside the pointer: the kind of its memory is fixed when it is "
               "allocated";
    return "query once, before the loop, and keep the result: it does not change while the program runs";
}

struct QueryEachStep : LineRule<QueryEachStep> {
    void add(const trace::Query& query) { at(ids::CallSite::of(query)).add(query.duration); }

    std::optional<Finding> judge(const Line<CallTally>& line) const {
        const auto queries = static_cast<double>(line.tally.count);
        const double time_ns = line.ns(line.tally.ticks), longest_ns = line.ns(line.tally.longest_ticks);
        const double saving_ns =
            time_ns - longest_ns; // the first answer is needed, and may have been the slowest
        if (line.tally.count < least_queries || saving_ns < line.share_of_run(least_query_share))
            return std::nullopt;
        return Finding{.summary =
                           fmt::format("{} {} times: {} a call, {} in all", line.profile.call_name(line.entry),
                                       line.tally.count, time_text(time_ns / queries), time_text(time_ns)),
                       .evidence = {{"queries", queries}, {"time_ns", time_ns}, {"longest_ns", longest_ns}},
                       .advice = query_advice(line.profile.dictionary().symbol(line.entry)),
                       .saving_ns = saving_ns,
                       .edit = line.calls.gone(line.profile),
                       .basis = "replay of the run with only one of these calls",
                       .confidence = Confidence::high};
    }
};

} // namespace

constinit const Rule uma_507{.id = "UMA-507",
                             .name = "query-each-step",
                             .title = "driver queries in each round",
                             .find = &QueryEachStep::find<uma_507>,
                             .counter = &count<QueryEachStep>};

} // namespace umadvisor::rules
