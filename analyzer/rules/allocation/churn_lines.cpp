#include "analyzer/rules/allocation/churn_lines.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

namespace umadvisor::rules {
namespace {

/// From this many live managed allocations of one line on, one block for all of them is better.
constexpr std::uint64_t least_for_slab = 64;

/// During this time, one site needs up to `peak_live` at once.
struct Span {
    std::uint64_t first, last, peak_live;
    double kept_ns;
};

/// If several call paths reach a line one after the other, it needs its memory once; if they alternate, it
/// needs the memory of each path.
void add_spans(ChurnLine& line, std::vector<Span>& spans) {
    std::ranges::sort(spans, {}, &Span::first);
    Span together{};
    for (const Span& span : spans) {
        if (span.first > together.last)
            together = {.first = span.first, .last = 0, .peak_live = 0, .kept_ns = 0};
        together.last = std::max(together.last, span.last);
        together.peak_live += span.peak_live;
        together.kept_ns += span.kept_ns;
        line.peak_live = std::max(line.peak_live, together.peak_live);
        line.kept_ns = std::max(line.kept_ns, together.kept_ns);
    }
}

void add_site(ChurnLine& line, const Profile& profile, const ChurnSite& site, const ChurnTotals& totals) {
    line.pairs += totals.pairs;
    line.calls.add(site, totals.pairs);
    line.bytes += totals.bytes;
    line.largest_bytes = std::max(line.largest_bytes, totals.largest_bytes);
    line.entry = site.entry;
    line.upkeep_calls += totals.upkeep_calls;
    line.uses += totals.uses;
    line.alike += totals.alike;
    line.alloc_ns += static_cast<double>(profile.nanoseconds(totals.alloc_ticks));
    line.upkeep_ns += static_cast<double>(profile.nanoseconds(totals.upkeep_ticks));
    line.free_ns += static_cast<double>(profile.nanoseconds(totals.free_ticks()));
    line.own_free_ns += static_cast<double>(profile.estimated_nanoseconds(totals.own_free_ticks()));
    line.lifetime_ns += static_cast<double>(profile.nanoseconds(totals.lifetime_ticks));
    line.built_ns += static_cast<double>(profile.nanoseconds(totals.built_ticks));
    if (totals.pairs > line.most) {
        line.most = totals.pairs;
        line.free_stack = totals.free_stack;
        line.free_entry = totals.free_entry;
    }
}

/// The cost of the remedy: the program makes as many as live at once, and keeps them.
double kept_site_ns(ChurnLine& line, const Profile& profile, const ChurnSite& site, const ChurnTotals& totals) {
    double ticks = totals.kept_ticks();
    if (site.made == Made::managed && totals.peak_live >= least_for_slab && totals.slab_ticks() < ticks) {
        ticks = totals.slab_ticks();
        line.slab = true;
    }
    return static_cast<double>(profile.estimated_nanoseconds(ticks));
}

/// Keeping memory saves time where it is made and where it is freed. The free may come long after, so each
/// place has its own part of the saving.
timeline::Edit apart(const Profile& profile, const ChurnLine& line, double spared) {
    const double all_ns = line.alloc_ns + line.upkeep_ns + line.own_free_ns;
    const double share = all_ns > 0 ? spared / all_ns : 0;
    timeline::Edit edit = line.calls.shorter(profile, (line.alloc_ns + line.upkeep_ns) * share);
    EditedCalls frees;
    frees.add({line.free_stack, line.free_entry}, line.pairs);
    std::ranges::copy(frees.shorter(profile, line.own_free_ns * share).changes,
                      std::back_inserter(edit.changes));
    return edit;
}

} // namespace

std::map<ids::StackId, ChurnLine> churn_lines(const Profile& profile, const LineOf& line_of,
                                              std::initializer_list<Made> kinds) {
    std::map<ids::StackId, ChurnLine> lines;
    std::map<ids::StackId, std::vector<Span>> spans;
    for (const auto& [site, totals] : profile.counted<Churn>().sites()) {
        if (std::ranges::find(kinds, site.made) == kinds.end())
            continue;
        const ids::StackId place = line_of(site.stack);
        ChurnLine& line = lines[place];
        add_site(line, profile, site, totals);
        const double kept = kept_site_ns(line, profile, site, totals);
        if (site.shape != 0) { // one of another shape cannot serve
            line.peak_live += totals.peak_live;
            line.kept_ns += kept;
            continue;
        }
        // An object that lives at the end may be needed until then.
        spans[place].push_back(
            {totals.first, totals.live == 0 ? totals.last : UINT64_MAX, totals.peak_live, kept});
    }
    for (auto& [place, of_line] : spans)
        add_spans(lines[place], of_line);
    return lines;
}

double spared_ns(const ChurnLine& line) {
    return std::max(0.0, line.alloc_ns + line.upkeep_ns + line.own_free_ns - line.kept_ns);
}

Finding churn_finding(const Profile& profile, const ChurnLine& line, std::string_view end_place) {
    Finding finding;
    if (line.free_stack.known())
        finding.places.emplace_back(end_place, line.free_stack);
    finding.saving_ns = spared_ns(line);
    finding.edit = apart(profile, line, finding.saving_ns);
    finding.confidence = Confidence::high;
    return finding;
}

} // namespace umadvisor::rules
