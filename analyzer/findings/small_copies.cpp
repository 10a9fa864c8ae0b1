/// Many copies whose call costs more than their bytes.
#include "analyzer/findings/finding.hpp"
#include "analyzer/findings/transfer_fates.hpp"
#include "analyzer/findings/words.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace umadvisor::findings {
namespace {

constexpr std::uint64_t least_count = 100;

struct SmallCopies {
    model::Tally copies;
    std::uint64_t entry = 0;
    bool asynchronous = true;
};

Finding describe(const model::Profile& profile, std::uint64_t stack, model::Direction direction,
                 const SmallCopies& group) {
    const double spent_ns = static_cast<double>(profile.nanoseconds(group.copies.ticks));
    const auto bytes = static_cast<double>(group.copies.bytes);
    const auto count = static_cast<double>(group.copies.count);
    // Merged, they are one call and the bytes at the rate of the link; in a batch about the same.
    const double merged_ns = profile.rates().small_copy_ns + bytes / profile.rates().pinned_to_device * 1e9;

    Finding finding;
    finding.rule = &rule("UMA-103");
    finding.title = "many small copies, " + std::string(words(direction));
    finding.stack = stack;
    finding.summary = profile.call_name(group.entry) + " of " + bytes_text(bytes / count) + " on average, " +
                      std::to_string(group.copies.count) + " times: " + time_text(spent_ns / count) +
                      " a call, " + time_text(spent_ns) + " in all";
    finding.evidence = {{"copies", count},
                        {"bytes", bytes},
                        {"mean_bytes", bytes / count},
                        {"time_ns", spent_ns},
                        {"time_per_copy_ns", spent_ns / count}};
    finding.advice =
        std::string("gather the pieces in one buffer and copy it once, or hand them over together with ") +
        (profile.uses_runtime() ? "cudaMemcpyBatchAsync" : "cuMemcpyBatchAsync") + " (CUDA 12.8)";
    finding.saving_ns = std::max(0.0, spent_ns - merged_ns);
    finding.basis = "time of these calls less one call and the same bytes at " +
                    rate_text(profile.rates().pinned_to_device) + ", measured on " + profile.rates().whose() +
                    "; gathering on the host is not counted";
    finding.confidence = group.asynchronous ? Confidence::medium : Confidence::high;
    return finding;
}

/// Copies of a call that hands over many, and the calls: whatever memory and direction each copy has.
struct Batches {
    std::uint64_t copies = 0, calls = 0;
    /// A batch of one is a call like any other.
    bool spare_calls() const { return copies >= 2 * calls && copies != 0; }
};

using CallSite = std::pair<std::uint64_t, std::uint64_t>; ///< stack, entry

std::map<CallSite, Batches> batches_of(const model::Profile& profile) {
    std::map<CallSite, Batches> batches;
    for (const auto& [site, totals] : profile.copies().sites())
        if (site.batched) {
            Batches& sum = batches[{site.stack, site.entry}];
            sum.copies += totals.small.count + totals.large.count;
            sum.calls += totals.calls;
        }
    return batches;
}

} // namespace

std::vector<Finding> find_small_copies(const model::Profile& profile, const LineOf& line_of) {
    std::map<std::pair<std::uint64_t, model::Direction>, SmallCopies> groups;
    const bool content_is_told = fates_are_told(profile);
    const std::map<CallSite, Batches> batches = batches_of(profile);
    for (const auto& [site, totals] : profile.copies().sites()) {
        // What a graph copies costs no call.
        if (totals.small.count == 0 || totals.direction == model::Direction::HtoH || site.graph)
            continue;
        if (site.batched && batches.at({site.stack, site.entry}).spare_calls())
            continue; // what would be advised is done
        if (profile.scalar_downloads().tells_of({site.stack, site.entry}))
            continue; // the rule scalar-download speaks of what waits for kernels
        // The rules on content advise to do without the copy.
        const model::Tally rest =
            content_is_told ? totals.small.without(profile.contents().told(site, true)) : totals.small;
        if (rest.count == 0)
            continue;
        SmallCopies& group = groups[{line_of(site.stack), totals.direction}];
        group.copies.add(rest);
        group.entry = site.entry;
        group.asynchronous &= site.asynchronous;
    }
    std::vector<Finding> findings;
    for (const auto& [key, group] : groups) {
        if (group.copies.count < least_count)
            continue;
        Finding finding = describe(profile, key.first, key.second, group);
        if (finding.saving_ns >= least_saving_ns)
            findings.push_back(std::move(finding));
    }
    return findings;
}

} // namespace umadvisor::findings
