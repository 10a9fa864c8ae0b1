#include "analyzer/live/held_lines.hpp"

#include "analyzer/rules/profile.hpp"
#include "analyzer/rules/words.hpp"
#include "analyzer/symbols/symbolizer.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace umadvisor::live {

std::vector<HeldLine> held_lines(const std::string& path, const symbols::Options& options, std::size_t most) {
    reader::Trace trace(path, {});
    const rules::Profile profile(trace);
    symbols::Symbolizer symbolizer(trace.dictionary, options, symbols::packed_symbols(trace.file.source()));
    std::map<std::pair<ids::StackId, trace::Memory>, HeldLine> lines;
    for (const auto& [site, totals] : profile.allocations().sites()) {
        if (totals.live_bytes == 0)
            continue;
        const ids::StackId line = symbolizer.line_stack(site.made_at());
        HeldLine& held = lines[{line, site.memory}];
        if (held.place.empty()) {
            held.place = symbolizer.line(line).text();
            held.memory = name(site.memory);
        }
        held.bytes += totals.live_bytes;
        held.allocations += totals.live;
    }
    std::vector<HeldLine> all;
    for (auto& [key, line] : lines)
        all.push_back(std::move(line));
    std::ranges::stable_sort(all, std::greater{}, &HeldLine::bytes);
    all.resize(std::min(all.size(), most));
    return all;
}

} // namespace umadvisor::live
