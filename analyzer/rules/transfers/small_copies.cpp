/// Small copies side by side: each costs its call, and one call could carry all of them.
#include "analyzer/facts/direction.hpp"
#include "analyzer/facts/per_thread.hpp"
#include "analyzer/facts/waiting.hpp"
#include "analyzer/ids/call_site.hpp"
#include "analyzer/rules/counter.hpp"
#include "analyzer/rules/edited_calls.hpp"
#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/python/python_statements.hpp"
#include "analyzer/rules/python/statements.hpp"
#include "analyzer/rules/transfer_fates.hpp"
#include "analyzer/rules/transfers/scalar_downloads.hpp"
#include "analyzer/rules/words.hpp"
#include "analyzer/tables/copies.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace umadvisor::rules {
namespace {

/// Small copies of one call site in runs of one kind.
struct RunCopies {
    std::uint64_t copies = 0;
    double spared = 0; ///< calls fewer, were each run one copy
};

/// A kind of runs: those of the same call sites.
struct RunTotals {
    std::uint64_t rounds = 0;
    std::map<ids::CallSite, RunCopies> small;
};

enum class Way : std::uint8_t { up, down, inside };

/// Device memory, from the lowest to the highest of some copies.
struct Span {
    std::uint64_t from = UINT64_MAX, to = 0;
    bool meets(std::uint64_t at, std::uint64_t bytes) const { return at < to && at + bytes > from; }
    void add(std::uint64_t at, std::uint64_t bytes) {
        from = std::min(from, at);
        to = std::max(to, at + bytes);
    }
};

/// The bytes of a run could be one copy: the host's code between its copies may move before or behind all
/// of them, while what lies between two runs may depend on the first. Within a device none reads what another
/// of its run has written, or writes what another has read. At most `most_turns` copies of one call site in a
/// row share a run with other sites behind them. Copies of graphs and batches are left out. Memory: one entry a
/// combination of at most `most_sites` call sites, and `most_kinds` of these.
class CopyRuns : public Counter {
public:
    static constexpr bool wants_nodes = true; ///< they end a run
    static constexpr std::size_t most_sites = 8, most_kinds = 1024, most_turns = 16;

    void add(const trace::Copy& record, std::uint32_t thread);
    void add(const trace::Sync& record, std::uint32_t thread);
    void add(const trace::GraphLaunch&, std::uint32_t thread) { end(thread); }
    void add(const trace::Set&, std::uint32_t thread) { end(thread); }
    void add(const trace::Prefetch&, std::uint32_t thread) { end(thread); }
    void add(const trace::HostFunction&, std::uint32_t thread) { end(thread); }
    void add(const trace::Pause&, std::uint32_t thread) { end(thread); }
    void add(const Launched& launched) { end(launched.thread); }
    void finish() override;

    const std::map<std::vector<ids::CallSite>, RunTotals>& kinds() const { return kinds_; }

private:
    struct Member {
        ids::CallSite site;
        std::uint64_t small = 0, large = 0;
    };
    struct Run {
        std::vector<Member> members; ///< by site
        std::uint64_t copies = 0;
        std::uint64_t unawaited = 0; ///< of these, since the last wait
        Way way{};
        bool pinned = false; ///< the last one's host memory is page-locked
        Span read, written;  ///< by copies within the device
        ids::CallSite last;
        std::uint64_t turns = 0; ///< of the last, in a row
    };
    void end(std::uint32_t thread);
    void end(Run& run);

    facts::PerThread<Run> runs_;
    std::map<std::vector<ids::CallSite>, RunTotals> kinds_;
};

void CopyRuns::add(const trace::Copy& record, std::uint32_t thread) {
    const bool from_host = facts::is_host_memory(record.source_memory),
               to_host = facts::is_host_memory(record.destination_memory);
    if (record.origin != trace::Origin::program || record.status != 0)
        return;
    const bool inside = record.source_memory == trace::Memory::device &&
                        record.destination_memory == trace::Memory::device && record.width == 0;
    if ((from_host == to_host && !inside) || record.batch != 0 || record.captured != 0)
        return end(thread);
    const Way way = inside ? Way::inside : from_host ? Way::up : Way::down;
    Run* run = &runs_[thread];
    if (inside &&
        (run->written.meets(record.source, record.bytes) || run->read.meets(record.destination, record.bytes)))
        end(*run);
    const ids::CallSite site = ids::CallSite::of(record);
    auto member = std::ranges::find(run->members, site, &Member::site);
    if (run->copies != 0 &&
        (run->way != way || (member == run->members.end() && run->members.size() == most_sites) ||
         (run->last != site && run->turns > most_turns))) {
        end(thread);
        member = run->members.end();
    }
    if (member == run->members.end()) {
        run->members.push_back({site});
        member = run->members.end() - 1;
    }
    run->turns = run->copies != 0 && run->last == site ? run->turns + 1 : 1;
    run->last = site;
    run->way = way;
    if (inside) {
        run->read.add(record.source, record.bytes);
        run->written.add(record.destination, record.bytes);
    }
    run->pinned = facts::is_page_locked(from_host ? record.source_memory : record.destination_memory);
    ++run->copies;
    ++run->unawaited;
    ++(record.bytes < tables::small_copy_bytes ? member->small : member->large);
}

void CopyRuns::add(const trace::Sync& record, std::uint32_t thread) {
    if (!facts::waits_for_work(record))
        return;
    Run* const run = runs_.find(thread);
    // The wait for one copy is part of it, unless the host waits to write the source of an upload anew.
    if (run != nullptr && run->unawaited == 1 && !(run->way == Way::up && run->pinned))
        run->unawaited = 0;
    else
        end(thread);
}

void CopyRuns::end(std::uint32_t thread) {
    if (Run* const run = runs_.find(thread))
        end(*run);
}

void CopyRuns::end(Run& run) {
    std::uint64_t small = 0;
    std::vector<ids::CallSite> sites;
    if (run.copies >= 2) // most end with none or one
        for (const Member& member : run.members) {
            sites.push_back(member.site);
            small += member.small;
        }
    std::ranges::sort(sites);
    if (small != 0 && (kinds_.size() < most_kinds || kinds_.contains(sites))) {
        RunTotals& totals = kinds_[sites];
        ++totals.rounds;
        // One call stays; where one of them is large, it is that.
        const double spared = small < run.copies ? 1 : 1 - 1 / static_cast<double>(small);
        for (const Member& member : run.members)
            if (member.small != 0) {
                RunCopies& copies = totals.small[member.site];
                copies.copies += member.small;
                copies.spared += static_cast<double>(member.small) * spared;
            }
    }
    run.members.clear();
    run.copies = run.unawaited = 0;
    run.read = run.written = {};
}

void CopyRuns::finish() {
    runs_.for_each([this](Run& run) { end(run); });
}

struct SmallCopies {
    ids::StackId stack{};
    std::uint64_t entry = 0; ///< of the line that saves most
    facts::Direction direction{};
    double count = 0, bytes = 0, own_ns = 0;
    double spared = 0, saving_ns = 0, most_ns = 0;
    double statement_ns = 0; ///< of Python code, that goes with the calls that are spared
    std::uint64_t rounds = 0;
    std::set<ids::StackId> lines;
    bool asynchronous = true;
    EditedCalls calls;     ///< that are spared
    double carried_ns = 0; ///< to bring their bytes over with others
};

/// Of what a run brings over as one.
double rate_of(const Profile& profile, facts::Direction direction) {
    return direction == facts::Direction::DtoD ? profile.rates().device_to_device
                                               : profile.rates().pinned_to_device;
}

/// What a copy of a call site takes on average, of those that the rules on content do not advise to leave out.
struct Usual {
    double ns = 0, bytes = 0;
    double share = 0; ///< of all small ones of the site
    const tables::CopySite* site = nullptr;
    facts::Direction direction{};
};

std::map<ids::CallSite, Usual> usual_copies(const Profile& profile) {
    const bool content_is_known = fates_are_known(profile);
    std::map<ids::CallSite, tables::Tally> all, rest;
    std::map<ids::CallSite, Usual> result;
    for (const auto& [site, totals] : profile.copies().sites()) {
        if (totals.small.count == 0 || site.graph || site.batched)
            continue;
        // The rules scalar-download, python-statement and on content advise to do without the wait or the copy.
        const ids::CallSite& key = site;
        const PythonSite* const python = profile.counted<Statements>().find(key);
        if (profile.counted<ScalarDownloads>().tells_of(key) ||
            (python != nullptr && is_constant_upload(*python)))
            continue;
        all[key].add(totals.small);
        rest[key].add(content_is_known
                          ? totals.small.without(profile.counted<DeviceContents>().reported(site, true))
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
    return &rule == &uma_119
               ? fmt::format("{}, {} follow each other and could be one copy", count_text(group.rounds, "time"),
                             count_text(group.lines.size(), "line"))
               : fmt::format("one right after another; one call for each series would replace {} of them",
                             static_cast<std::uint64_t>(group.spared));
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
    finding.title = fmt::format("{}, {}", rule.title, words(group.direction));
    finding.stack = group.stack;
    finding.summary = fmt::format("{} of {} on average, {}, {} each: {}", profile.call_name(group.entry),
                                  bytes_text(group.bytes / group.count),
                                  count_text(static_cast<std::uint64_t>(group.count), "time"),
                                  time_text(group.own_ns / group.count), side_by_side(group, rule));
    finding.evidence = {{"copies", group.count},
                        {"bytes", group.bytes},
                        {"mean_bytes", group.bytes / group.count},
                        {"time_ns", group.own_ns},
                        {"time_per_copy_ns", group.own_ns / group.count},
                        {"calls_spared", group.spared}};
    for (const ids::StackId line : group.lines)
        if (line != group.stack)
            finding.places.emplace_back("copied in the same group", line);
    finding.advice =
        fmt::format("{}, or pass them together to {} (CUDA 12.8; not on the default stream)",
                    group.direction == facts::Direction::DtoD
                        ? "let one kernel copy all pieces; it reads their addresses from an array on the device"
                        : "gather the pieces in one struct or buffer on both sides and copy it once",
                    profile.uses_runtime() ? "cudaMemcpyBatchAsync" : "cuMemcpyBatchAsync");
    finding.saving_ns = group.saving_ns;
    finding.edit = group.calls.gone(profile, group.carried_ns);
    if (group.statement_ns > 0) {
        finding.statement_ns = group.statement_ns;
        finding.evidence.emplace_back("statement_ns", group.statement_ns);
        finding.details.push_back(fmt::format("including Python's work around each: {} of the host's time",
                                              time_text(group.statement_ns / group.spared)));
    }
    finding.basis =
        fmt::format("time of the calls that one copy per group replaces (waits for earlier work excluded){}, "
                    "minus the same bytes at {}, measured on {}{}",
                    group.statement_ns > 0
                        ? ", each call's wait and the time between the calls that is certainly theirs included"
                        : "",
                    rate_text(rate_of(profile, group.direction)), profile.rates().whose(),
                    group.direction == facts::Direction::DtoD ? "" : "; gathering on the host is not counted");
    finding.confidence = group.asynchronous ? Confidence::medium : Confidence::high;
    return finding;
}

void add(SmallCopies& group, const Profile& profile, const PythonStatements& statements, ids::StackId line,
         const Usual& usual, const RunCopies& copies) {
    const double count = static_cast<double>(copies.copies) * usual.share, spared = copies.spared * usual.share;
    const double carried_ns = usual.bytes / rate_of(profile, usual.direction) * 1e9;
    double saving = spared * std::max(0.0, usual.ns - carried_ns);
    const ids::CallSite site{usual.site->stack, usual.site->entry};
    if (const PythonSite* const python = profile.counted<Statements>().find(site)) {
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
    std::map<std::pair<std::set<ids::StackId>, facts::Direction>, SmallCopies> groups;
    for (const auto& [sites, totals] : profile.counted<CopyRuns>().kinds()) {
        std::set<ids::StackId> lines;
        for (const ids::CallSite& site : sites)
            lines.insert(line_of(site.stack));
        for (const auto& [site, copies] : totals.small) {
            const auto found = usual.find(site);
            if (found == usual.end() || found->second.share == 0 ||
                found->second.direction == facts::Direction::PtoP)
                continue;
            SmallCopies& group = groups[{lines, found->second.direction}];
            add(group, profile, statements, line_of(site.stack), found->second, copies);
            group.lines.insert(lines.begin(), lines.end());
            group.rounds = std::max(group.rounds, totals.rounds);
        }
    }
    std::vector<Finding> findings;
    for (const auto& [key, group] : groups)
        if (group.saving_ns >= least_saving_ns &&
            (key.second != facts::Direction::DtoD ||
             is_loop(group))) // kernels between few such copies are as many
            findings.push_back(describe(profile, is_loop(group) ? uma_103 : uma_119, group));
    return findings;
}

constinit const Rule uma_103{.id = "UMA-103",
                             .name = "small-copies",
                             .title = "many small copies",
                             .find = &find_small_copies,
                             .counter = &count<CopyRuns>,
                             .fits = Fits::separate_memory,
                             .price = Price::rates,
                             .same_calls_as = &uma_112,
                             .order = OrderUse::none};

constinit const Rule uma_119{.id = "UMA-119",
                             .name = "pack-round",
                             .title = "adjacent small copies that could be one",
                             .find = &find_small_copies,
                             .counter = &count<CopyRuns>,
                             .fits = Fits::separate_memory,
                             .price = Price::rates,
                             .order = OrderUse::none};

} // namespace umadvisor::rules
