#include "analyzer/findings/churn_lines.hpp"

#include <algorithm>

namespace umadvisor::findings {

std::map<std::uint64_t, ChurnLine> churn_lines(const model::Profile& profile, const LineOf& line_of,
                                               std::initializer_list<trace::Memory> memories) {
    std::map<std::uint64_t, ChurnLine> lines;
    for (const auto& [site, totals] : profile.churn().sites()) {
        if (std::ranges::find(memories, site.memory) == memories.end())
            continue;
        ChurnLine& line = lines[line_of(site.stack)];
        line.pairs += totals.pairs;
        line.bytes += totals.bytes;
        line.peak_live += totals.peak_live;
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
    }
    return lines;
}

double spared_share(const ChurnLine& line) {
    return 1.0 - static_cast<double>(line.peak_live) / static_cast<double>(line.pairs);
}

} // namespace umadvisor::findings
