#include "analyzer/rules/fates.hpp"

#include <set>
#include <tuple>
#include <utility>

namespace umadvisor::rules {
namespace {

/// For bytes that come back from the host, one whole comparison is enough beside this many equal parts, which
/// differ from round to round: a slow host has no time to compare large copies more often.
constexpr std::uint64_t many_parts = 8;
/// Compared places are spread evenly. If a tenth of the bytes changed each time, all places would be equal in
/// one of a thousand runs.
constexpr std::uint64_t many_places = 64;
/// A line that uploads zeros once or twice initialises memory. Those that do so often upload data, which
/// happened to be one value in this run.
constexpr std::uint64_t most_initial = 2;
constexpr std::size_t many_buffers = 4; ///< of one value, as far as some bytes of each show
constexpr std::uint64_t nearly_all = 9; ///< so many times as many were equal as were not
/// Recording looks at bytes whenever its share of the run's time allows it, so looks lie all over the run. Each
/// speaks for one transfer that was not looked at, and for `most_alike` where there are many looks.
constexpr std::uint64_t many_looks = 64, most_alike = 3;

tables::Tally share_of(const tables::Tally& tally, std::uint64_t part, std::uint64_t whole) {
    const double share = static_cast<double>(part) / static_cast<double>(whole);
    const auto of = [share](std::uint64_t number) {
        return static_cast<std::uint64_t>(static_cast<double>(number) * share);
    };
    return {of(tally.count), of(tally.bytes), of(tally.ticks)};
}

/// Buffers that are sent once each are never compared as a whole. Where some bytes of many are the same value,
/// and all bytes of none were seen to differ, they are believed.
void believe_many_constants(std::map<FateSite, FateTotals>& sites) {
    struct Buffers {
        std::set<ids::StackId> allocated;
        std::uint64_t differed = 0;
    };
    std::map<std::pair<std::uint64_t, std::uint64_t>, Buffers> values;
    for (const auto& [site, totals] : sites)
        if (site.fate == Fate::constant) {
            Buffers& buffers = values[{totals.value_bytes, totals.value}];
            buffers.allocated.insert(totals.allocation_stack);
            buffers.differed += totals.differed;
        }
    for (auto& [site, totals] : sites)
        if (site.fate == Fate::constant && totals.seen.count == 0) {
            const Buffers& buffers = values[{totals.value_bytes, totals.value}];
            if (buffers.allocated.size() >= many_buffers && buffers.differed == 0)
                totals.equal_elsewhere = buffers.allocated.size();
        }
}

/// An upload counts as one of the same bytes unless it is found constant.
void settle_constants(std::map<FateSite, FateTotals>& sites) {
    for (auto& [site, totals] : sites)
        if (totals.or_constant.count != 0) {
            const auto constant = sites.find({site.copy, Fate::constant, site.small});
            if (constant == sites.end() || constant->second.seen.count < FateTotals::least_seen ||
                constant->second.differed != 0)
                totals.in_part.add(totals.or_constant);
        }
}

/// Of uploads of the same host bytes into memory that one line allocated.
void share_between_sites(std::map<FateSite, FateTotals>& sites) {
    struct Evidence {
        std::uint64_t equal = 0, differed = 0;
    };
    std::map<std::pair<Fate, ids::StackId>, Evidence> lines; // by where the memory was allocated
    const auto of = [&lines](const FateSite& site, const FateTotals& totals) -> Evidence* {
        const bool same_source = site.fate == Fate::again || site.fate == Fate::twice;
        return same_source && totals.allocation_stack.known() ? &lines[{site.fate, totals.allocation_stack}]
                                                              : nullptr;
    };
    for (const auto& [site, totals] : sites)
        if (Evidence* const line = of(site, totals)) {
            line->equal += totals.seen.count;
            line->differed += totals.differed;
        }
    for (auto& [site, totals] : sites)
        if (const Evidence* const line = of(site, totals)) {
            totals.equal_elsewhere = line->equal - totals.seen.count;
            totals.differed_elsewhere = line->differed - totals.differed;
        }
}

/// Buffers that one call sends or brings in turn share their places: a loop over few rounds compares few of
/// each.
void share_between_buffers(std::map<FateSite, FateTotals>& sites) {
    struct Evidence {
        std::uint64_t places = 0, differed = 0;
    };
    std::map<std::tuple<ids::CallSite, Fate, bool>, Evidence> calls;
    const auto of = [&calls](const FateSite& site) -> Evidence& {
        return calls[{site.copy, site.fate, site.small}];
    };
    for (const auto& [site, totals] : sites) {
        of(site).places += totals.places;
        of(site).differed += totals.differed + totals.differed_in_places;
    }
    for (auto& [site, totals] : sites)
        if (of(site).differed == 0)
            totals.places_elsewhere = of(site).places - totals.places;
}

} // namespace

tables::Tally FateTotals::compared(Fate fate) const {
    const bool same_source = fate == Fate::again || fate == Fate::twice;
    const std::uint64_t equal = seen.count + equal_elsewhere, other = differed + differed_elsewhere;
    const bool initialises = fate == Fate::constant && value == 0 && in_part.count <= most_initial;
    const bool enough_parts = initialises || in_part.count >= many_parts;
    const bool sampled = other == 0 && enough_parts && (fate != Fate::constant || initialises) &&
                         places + places_elsewhere >= many_places &&
                         differed_in_places * nearly_all <= in_part.count;
    const bool often = fate == Fate::returned && other == 0 && in_part.count >= many_parts;
    // No call can have changed these bytes on the device. Parts show that nothing else did.
    const bool unwritten = (fate == Fate::brought || fate == Fate::kept) && in_part.count >= many_parts &&
                           other + differed_in_places == 0;
    if (!sampled && !unwritten && equal < (often ? 1 : least_seen)) // to be equal once may be chance
        return fate == Fate::constant || fate == Fate::unused ? seen : tables::Tally();
    tables::Tally all = seen;
    if (differed_in_places * nearly_all > in_part.count)
        return all; // the places that were not compared differ as often
    if (other == 0)
        all.add(in_part);
    else if (same_source && other * nearly_all <= equal)
        all.add(share_of(in_part, equal, equal + other));
    return all;
}

tables::Tally FateTotals::counted_as_alike(Fate fate) const {
    const std::uint64_t alike = compared(fate).count;
    if (fate == Fate::unused || looked_at * (looked_at < many_looks ? 1 : most_alike) < not_looked_at.count ||
        looked_at < alike || alike == 0)
        return {};
    return share_of(not_looked_at, alike, looked_at);
}

tables::Tally FateTotals::reported(Fate fate) const {
    tables::Tally all = compared(fate);
    all.add(counted_as_alike(fate));
    return all;
}

void share_evidence(std::map<FateSite, FateTotals>& sites) {
    settle_constants(sites);
    believe_many_constants(sites);
    share_between_sites(sites);
    share_between_buffers(sites);
}

} // namespace umadvisor::rules
