/// Questions to the driver that a program asks in every round, and whose answers it could keep.
#include "analyzer/rules/edited_calls.hpp"
#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <map>
#include <string_view>

namespace umadvisor::rules {
namespace {

/// Fewer are no rounds; and a smaller share of the run is not worth a cache of answers.
constexpr std::uint64_t least_queries = 100;
constexpr double least_query_share = 0.01;

struct QueryLine {
    std::uint64_t queries = 0, entry = 0;
    double time_ns = 0, longest_ns = 0;
    double most_ns = 0; ///< of the entry that took most
    EditedCalls calls;

    /// The first answer is needed, and may have been the slowest.
    double saving_ns() const { return time_ns - longest_ns; }
};

std::string query_advice(std::string_view entry) {
    if (entry.find("MemGetInfo") != std::string_view::npos)
        return "ask once, before the rounds, and keep the answer: what is free changes only by what the "
               "program itself allocates and frees, and by other processes; ask again where an allocation has "
               "failed";
    if (entry.find("Pointer") != std::string_view::npos)
        return "keep what is known of a pointer beside it: where memory lies is settled when it is allocated";
    return "ask once, before the rounds, and keep the answer: it does not change while the program runs";
}

Finding describe_queries(const Profile& profile, std::uint64_t stack, const QueryLine& line) {
    const auto queries = static_cast<double>(line.queries);
    Finding finding;
    finding.rule = &rule("UMA-507");
    finding.title = finding.rule->title;
    finding.stack = stack;
    finding.summary = profile.call_name(line.entry) + " " + std::to_string(line.queries) +
                      " times: " + time_text(line.time_ns / queries) + " a call, " + time_text(line.time_ns) +
                      " in all";
    finding.evidence = {{"queries", queries}, {"time_ns", line.time_ns}, {"longest_ns", line.longest_ns}};
    finding.advice = query_advice(profile.dictionary().symbol(line.entry));
    finding.saving_ns = line.saving_ns();
    finding.edit = line.calls.gone(profile);
    finding.basis = "replay of the run without these calls but one";
    finding.confidence = Confidence::high;
    return finding;
}

} // namespace

std::vector<Finding> find_queries_each_step(const Profile& profile, const LineOf& line_of) {
    std::map<std::uint64_t, QueryLine> lines;
    for (const auto& [site, totals] : profile.queries().sites()) {
        QueryLine& line = lines[line_of(site.stack)];
        const auto ns = static_cast<double>(profile.nanoseconds(totals.ticks));
        line.queries += totals.count;
        line.time_ns += ns;
        line.longest_ns =
            std::max(line.longest_ns, static_cast<double>(profile.nanoseconds(totals.longest_ticks)));
        if (ns >= line.most_ns) {
            line.most_ns = ns;
            line.entry = site.entry;
        }
        line.calls.add(site, totals.count);
    }
    const double least_ns =
        std::max(least_saving_ns, least_query_share * static_cast<double>(profile.net_ns()));
    std::vector<Finding> findings;
    for (const auto& [stack, line] : lines)
        if (line.queries >= least_queries && line.saving_ns() >= least_ns)
            findings.push_back(describe_queries(profile, stack, line));
    return findings;
}

} // namespace umadvisor::rules
