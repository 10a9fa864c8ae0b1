/// Stream-ordered memory that its pool gives back to the system at every synchronisation, and maps anew for the
/// next allocation, as pools do whose release threshold is zero: the default.
#include "analyzer/rules/edited_calls.hpp"
#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace umadvisor::rules {
namespace {

/// An allocation that its pool can serve takes about as long as a launch. One that took so many times as long
/// had memory mapped.
constexpr double times_a_launch = 4;
constexpr std::uint64_t least_mapped = 3;
/// The pool serves most allocations of some lines from what it has kept. Such a line is no finding: less than
/// this share of its allocations had memory mapped anew.
constexpr double least_mapped_share = 0.5;
constexpr std::size_t most_pool_places = 4;

struct PoolLine {
    std::uint64_t allocations = 0, anew = 0, anew_bytes = 0, entry = 0, returns = 0, free_waits = 0, trims = 0;
    std::uint64_t returned_at = 0;
    double anew_ns = 0, free_wait_ns = 0, trim_ns = 0;
    EditedCalls calls;

    void add(const PoolLine& other) {
        allocations += other.allocations;
        anew += other.anew;
        anew_bytes += other.anew_bytes;
        // One call gives memory of several lines back.
        returns = std::max(returns, other.returns);
        free_waits = std::max(free_waits, other.free_waits);
        trims = std::max(trims, other.trims);
        anew_ns += other.anew_ns;
        free_wait_ns += other.free_wait_ns;
        trim_ns += other.trim_ns;
        calls.add(other.calls);
    }
    double mean_ns() const { return anew == 0 ? 0 : anew_ns / static_cast<double>(anew); }
};

/// What mapping took, and those synchronisations that had nothing else to do. What the others took for it
/// cannot be told from their wait for the device.
double pool_saving_ns(const PoolLine& line, double served_ns) {
    return line.anew_ns - static_cast<double>(line.anew) * served_ns +
           std::max(0.0, line.free_wait_ns - static_cast<double>(line.free_waits) * served_ns) + line.trim_ns;
}

std::string pool_advice(const Profile& profile, const PoolLine& line) {
    if (line.trims > line.returns)
        return profile.uses_runtime() ? "trim the pool after the rounds, not in each (cudaMemPoolTrimTo)"
                                      : "trim the pool after the rounds, not in each (cuMemPoolTrimTo)";
    return profile.uses_runtime()
               ? "have the pool keep what is free: uint64_t keep = UINT64_MAX; cudaMemPoolSetAttribute(pool, "
                 "cudaMemPoolAttrReleaseThreshold, &keep) once, with the pool of "
                 "cudaDeviceGetDefaultMemPool(&pool, device) or the one that is allocated from"
               : "have the pool keep what is free: cuuint64_t keep = UINT64_MAX; cuMemPoolSetAttribute(pool, "
                 "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep) once, with the pool of "
                 "cuDeviceGetDefaultMemPool(&pool, device) or the one that is allocated from";
}

Finding describe_pool(const Profile& profile, std::uint64_t stack, const PoolLine& line) {
    const auto anew = static_cast<double>(line.anew);
    Finding finding;
    finding.rule = &uma_414;
    finding.title = finding.rule->title;
    finding.stack = stack;
    finding.summary = profile.call_name(line.entry) + " of " +
                      bytes_text(static_cast<double>(line.anew_bytes) / anew) + " on average, " +
                      std::to_string(line.anew) +
                      " times after the pool had given as much back: " + time_text(line.mean_ns()) + " each, " +
                      time_text(line.anew_ns) + " in all";
    finding.evidence = {{"allocations", static_cast<double>(line.allocations)},
                        {"mapped_anew", anew},
                        {"mapped_anew_bytes", static_cast<double>(line.anew_bytes)},
                        {"mapped_anew_time_ns", line.anew_ns},
                        {"synchronisations", static_cast<double>(line.returns)},
                        {"idle_synchronisations", static_cast<double>(line.free_waits)},
                        {"idle_synchronisation_time_ns", line.free_wait_ns},
                        {"trims", static_cast<double>(line.trims)},
                        {"trim_time_ns", line.trim_ns}};
    if (line.free_waits != 0)
        finding.details.push_back(std::to_string(line.free_waits) +
                                  " synchronisations that had nothing to wait for took " +
                                  time_text(line.free_wait_ns) + ": they gave the memory back");
    else if (line.returns != 0)
        finding.details.push_back("what the synchronisations took to give it back is hidden in their wait for "
                                  "the device, and left out of the saving");
    if (line.returned_at != 0)
        finding.places.emplace_back("given back here", line.returned_at);
    finding.advice = pool_advice(profile, line);
    finding.saving_ns = pool_saving_ns(line, profile.rates().launch_call_ns);
    finding.edit = line.calls.shorter(profile, finding.saving_ns);
    finding.basis = "time of these allocations and of giving the memory back, less what allocations take that "
                    "their pool can serve";
    finding.confidence = Confidence::medium; // no call shows what a pool keeps
    return finding;
}

} // namespace

std::vector<Finding> find_pool_trims(const Profile& profile, const LineOf& line_of) {
    std::map<std::uint64_t, PoolLine> lines;
    for (const auto& [site, totals] : profile.pool_trims().sites()) {
        PoolLine& line = lines[line_of(site.stack)];
        line.allocations += totals.allocations;
        line.anew += totals.anew;
        line.anew_bytes += totals.anew_bytes;
        line.entry = site.entry;
        line.returns += totals.returns;
        line.free_waits += totals.free_waits;
        line.trims += totals.trims;
        line.returned_at = totals.last_stack;
        line.anew_ns += static_cast<double>(profile.nanoseconds(totals.anew_ticks));
        line.free_wait_ns += totals.free_wait_ns;
        line.trim_ns += static_cast<double>(profile.estimated_nanoseconds(totals.trim_ticks));
        line.calls.add(site, totals.anew, totals.allocations);
    }
    // The threshold is the pool's: one finding, at the line that costs most, speaks for all lines.
    const double served_ns = profile.rates().launch_call_ns;
    std::erase_if(lines, [served_ns](const auto& entry) {
        const PoolLine& line = entry.second;
        return line.anew < least_mapped || line.mean_ns() < times_a_launch * served_ns ||
               static_cast<double>(line.anew) < least_mapped_share * static_cast<double>(line.allocations);
    });
    const auto most = std::ranges::max_element(
        lines, {}, [served_ns](const auto& entry) { return pool_saving_ns(entry.second, served_ns); });
    if (most == lines.end())
        return {};
    PoolLine all = most->second;
    for (const auto& [stack, line] : lines)
        if (stack != most->first)
            all.add(line);
    if (pool_saving_ns(all, served_ns) < least_saving_ns)
        return {};
    Finding finding = describe_pool(profile, most->first, all);
    for (const auto& [stack, line] : lines)
        if (stack != most->first && finding.places.size() < most_pool_places)
            finding.places.emplace_back("allocated here, too", stack);
    return {std::move(finding)};
}

constinit const Rule uma_414{.id = "UMA-414",
                             .name = "pool-trim",
                             .title = "a pool gives its memory back in each round",
                             .find = &find_pool_trims};

} // namespace umadvisor::rules
