#include "analyzer/findings/churn_lines.hpp"

#include <algorithm>
#include <vector>

namespace umadvisor::findings {
namespace {

/// While this time lasts, so much of one site is needed at once.
struct Span {
    std::uint64_t first, last, peak_live;
    double kept_ns;
};

/// A line that is reached by several ways, one after the other, needs its memory once; by ways that alternate,
/// the memory of each.
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

} // namespace

std::map<std::uint64_t, ChurnLine> churn_lines(const model::Profile& profile, const LineOf& line_of,
                                               std::initializer_list<trace::Memory> memories) {
    std::map<std::uint64_t, ChurnLine> lines;
    std::map<std::uint64_t, std::vector<Span>> spans;
    for (const auto& [site, totals] : profile.churn().sites()) {
        if (std::ranges::find(memories, site.memory) == memories.end())
            continue;
        const std::uint64_t place = line_of(site.stack);
        ChurnLine& line = lines[place];
        line.pairs += totals.pairs;
        line.calls.add({site.stack, site.entry}, totals.pairs);
        line.bytes += totals.bytes;
        line.largest_bytes = std::max(line.largest_bytes, totals.largest_bytes);
        line.entry = site.entry;
        line.alloc_ns += static_cast<double>(profile.nanoseconds(totals.alloc_ticks));
        line.free_ns += static_cast<double>(profile.nanoseconds(totals.free_ticks()));
        line.own_free_ns += static_cast<double>(profile.estimated_nanoseconds(totals.own_free_ticks()));
        line.lifetime_ns += static_cast<double>(profile.nanoseconds(totals.lifetime_ticks));
        if (totals.pairs > line.most) {
            line.most = totals.pairs;
            line.free_stack = totals.free_stack;
            line.free_entry = totals.free_entry;
        }
        // Memory that is live at the end may be needed until then.
        spans[place].push_back({totals.first, totals.live == 0 ? totals.last : UINT64_MAX, totals.peak_live,
                                static_cast<double>(profile.estimated_nanoseconds(totals.kept_ticks()))});
    }
    for (auto& [place, of_line] : spans)
        add_spans(lines[place], of_line);
    return lines;
}

double spared_ns(const ChurnLine& line) {
    return std::max(0.0, line.alloc_ns + line.own_free_ns - line.kept_ns);
}

} // namespace umadvisor::findings
