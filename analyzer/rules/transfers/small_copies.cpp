/// Small copies side by side: each costs its call, and one call could carry all of them.
#include "analyzer/rules/edited_calls.hpp"
#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/python/python_statements.hpp"
#include "analyzer/rules/transfer_fates.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace umadvisor::rules {
namespace {

struct SmallCopies {
    std::uint64_t stack = 0, entry = 0; ///< of the line that saves most
    facts::Direction direction{};
    double count = 0, bytes = 0, own_ns = 0;
    double spared = 0, saving_ns = 0, most_ns = 0;
    double statement_ns = 0; ///< of Python code, that goes with the calls that are spared
    std::uint64_t rounds = 0;
    std::set<std::uint64_t> lines;
    bool asynchronous = true;
    EditedCalls calls;     ///< that are spared
    double carried_ns = 0; ///< to bring their bytes over with others
};

/// What a copy of a call site takes on average, of those that the rules on content do not advise to leave out.
struct Usual {
    double ns = 0, bytes = 0;
    double share = 0; ///< of all small ones of the site
    const tables::CopySite* site = nullptr;
    facts::Direction direction{};
};

std::map<ids::CallSite, Usual> usual_copies(const Profile& profile) {
    const bool content_is_told = fates_are_told(profile);
    std::map<ids::CallSite, tables::Tally> all, rest;
    std::map<ids::CallSite, Usual> result;
    for (const auto& [site, totals] : profile.copies().sites()) {
        if (totals.small.count == 0 || site.graph || site.batched)
            continue;
        // The rules scalar-download and on content advise to do without the wait or the copy.
        if (profile.scalar_downloads().tells_of({site.stack, site.entry}))
            continue;
        const ids::CallSite key{site.stack, site.entry};
        all[key].add(totals.small);
        rest[key].add(content_is_told ? totals.small.without(profile.contents().told(site, true))
                                      : totals.small);
        result[key].site = &site;
        result[key].direction = totals.direction;
    }
    for (auto& [key, usual] : result) {
        const tables::Tally& left = rest[key];
        const auto count = static_cast<double>(left.count);
        usual.share = count / static_cast<double>(all[key].count);
        usual.ns = count == 0 ? 0 : left.own_ns / count;
        usual.bytes = count == 0 ? 0 : static_cast<double>(left.bytes) / count;
    }
    return result;
}

std::string side_by_side(const SmallCopies& group, const Rule& rule) {
    return &rule == &uma_119 ? count_text(group.lines.size(), "line") + " that follow each other, " +
                                   count_text(group.rounds, "time") + ", could be one copy"
                             : "side by side, " + std::to_string(static_cast<std::uint64_t>(group.spared)) +
                                   " of which one call for each run of copies would spare";
}

/// One line, or lines that follow each other in a loop without kernels.
bool is_loop(const SmallCopies& group) {
    constexpr double least_turns = 4;
    return group.lines.size() == 1 ||
           group.count >= least_turns * static_cast<double>(group.lines.size() * group.rounds);
}

Finding describe(const Profile& profile, const Rule& rule, const SmallCopies& group) {
    Finding finding;
    finding.rule = &rule;
    finding.title = std::string(rule.title) + ", " + std::string(words(group.direction));
    finding.stack = group.stack;
    finding.summary = profile.call_name(group.entry) + " of " + bytes_text(group.bytes / group.count) +
                      " on average, " + count_text(static_cast<std::uint64_t>(group.count), "time") + ", " +
                      time_text(group.own_ns / group.count) + " each: " + side_by_side(group, rule);
    finding.evidence = {{"copies", group.count},
                        {"bytes", group.bytes},
                        {"mean_bytes", group.bytes / group.count},
                        {"time_ns", group.own_ns},
                        {"time_per_copy_ns", group.own_ns / group.count},
                        {"calls_spared", group.spared}};
    for (const std::uint64_t line : group.lines)
        if (line != group.stack)
            finding.places.emplace_back("copied beside it", line);
    finding.advice =
        std::string("gather the pieces in one buffer and copy it once, or hand them over together with ") +
        (profile.uses_runtime() ? "cudaMemcpyBatchAsync" : "cuMemcpyBatchAsync") + " (CUDA 12.8)";
    finding.saving_ns = group.saving_ns;
    finding.edit = group.calls.gone(profile, group.carried_ns);
    if (group.statement_ns > 0) {
        finding.statement_ns = group.statement_ns;
        finding.evidence.emplace_back("statement_ns", group.statement_ns);
        finding.details.push_back("with what Python does around each: " +
                                  time_text(group.statement_ns / group.spared) + " of the host's time");
    }
    finding.basis =
        std::string("time of the calls that one copy for all of a run spares, without waits for earlier work") +
        (group.statement_ns > 0 ? ", with the waits for each and the time between them that is surely theirs"
                                : "") +
        ", less the same bytes at " + rate_text(profile.rates().pinned_to_device) + ", measured on " +
        profile.rates().whose() + "; gathering on the host is not counted";
    finding.confidence = group.asynchronous ? Confidence::medium : Confidence::high;
    return finding;
}

void add(SmallCopies& group, const Profile& profile, const PythonStatements& statements, std::uint64_t line,
         const Usual& usual, const RunCopies& copies) {
    const double count = static_cast<double>(copies.copies) * usual.share, spared = copies.spared * usual.share;
    const double carried_ns = usual.bytes / profile.rates().pinned_to_device * 1e9;
    double saving = spared * std::max(0.0, usual.ns - carried_ns);
    const ids::CallSite site{usual.site->stack, usual.site->entry};
    if (const PythonSite* const python = profile.statements().find(site)) {
        const auto all = static_cast<double>(python->count);
        const StatementTime time = statements.of_copy(*python, group.calls, std::min(1.0, spared / all));
        const double around_ns = spared * (time.before_ns + time.wait_ns) / all;
        group.statement_ns += around_ns + spared * usual.ns;
        saving += around_ns;
    } else {
        group.calls.add(site, static_cast<std::uint64_t>(spared));
    }
    group.lines.insert(line);
    group.direction = usual.direction;
    group.count += count;
    group.bytes += count * usual.bytes;
    group.own_ns += count * usual.ns;
    group.spared += spared;
    group.saving_ns += saving;
    group.carried_ns += spared * carried_ns;
    group.asynchronous &= usual.site->asynchronous;
    if (saving >= group.most_ns) {
        group.most_ns = saving;
        group.stack = line;
        group.entry = usual.site->entry;
    }
}

} // namespace

std::vector<Finding> find_small_copies(const Profile& profile, const LineOf& line_of) {
    const std::map<ids::CallSite, Usual> usual = usual_copies(profile);
    const PythonStatements statements(profile, line_of);
    std::map<std::pair<std::set<std::uint64_t>, facts::Direction>, SmallCopies> groups;
    for (const auto& [sites, totals] : profile.copy_runs().kinds()) {
        std::set<std::uint64_t> lines;
        for (const ids::CallSite& site : sites)
            lines.insert(line_of(site.stack));
        for (const auto& [site, copies] : totals.small) {
            const auto found = usual.find(site);
            if (found == usual.end() || found->second.share == 0)
                continue;
            SmallCopies& group = groups[{lines, found->second.direction}];
            add(group, profile, statements, line_of(site.stack), found->second, copies);
            group.lines.insert(lines.begin(), lines.end());
            group.rounds = std::max(group.rounds, totals.rounds);
        }
    }
    std::vector<Finding> findings;
    for (const auto& [key, group] : groups)
        if (group.saving_ns >= least_saving_ns)
            findings.push_back(describe(profile, is_loop(group) ? uma_103 : uma_119, group));
    return findings;
}

constinit const Rule uma_103{.id = "UMA-103",
                             .name = "small-copies",
                             .title = "many small copies",
                             .find = &find_small_copies,
                             .fits = Fits::separate_memory,
                             .price = Price::rates,
                             .order = OrderUse::none};

constinit const Rule uma_119{.id = "UMA-119",
                             .name = "pack-round",
                             .title = "small copies side by side that could be one",
                             .find = &find_small_copies,
                             .fits = Fits::separate_memory,
                             .price = Price::rates,
                             .order = OrderUse::none};

} // namespace umadvisor::rules
