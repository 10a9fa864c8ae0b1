#include "analyzer/rules/unified/neighbours.hpp"

#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace umadvisor::rules {
namespace {

/// Larger memory has granules of its own for the most part.
constexpr std::uint64_t most_bytes = 2 * managed::granule;

/// The lines that allocate what shares a granule with it, its own line left out.
std::set<ids::AllocationSite> neighbours_of(const ManagedMemory& memory, const LineOf& line_of) {
    std::set<ids::AllocationSite> neighbours;
    if (memory.bytes / std::max<std::uint64_t>(1, memory.allocations) > most_bytes)
        return neighbours;
    for (ids::AllocationSite site : memory.activity.neighbours) {
        site.stack = line_of(site.stack);
        if (site != memory.site)
            neighbours.insert(site);
    }
    return neighbours;
}

void tell(Finding& finding, const ManagedMemory& memory, const std::set<ids::AllocationSite>& neighbours) {
    std::string names;
    for (const ids::AllocationSite& site : neighbours) {
        const std::string name = allocation_text(memory.profile, site);
        names += (names.empty() ? "" : ", ") + name;
        if (site.symbol == 0)
            finding.places.emplace_back(name + " is allocated here", site.stack);
    }
    finding.summary += fmt::format("; it shares 64 KiB with {}, and the driver moves both together", names);
}

} // namespace

std::vector<Finding> with_neighbours(std::vector<OnMemory> found, const LineOf& line_of) {
    std::ranges::stable_sort(found, std::ranges::greater{},
                             [](const OnMemory& each) { return each.finding.saving_ns; });
    std::vector<OnMemory> kept;
    for (OnMemory& each : found) {
        const auto neighbours = each.finding.rule->by_page_faults ? neighbours_of(*each.memory, line_of)
                                                                  : std::set<ids::AllocationSite>{};
        const auto larger = std::ranges::find_if(kept, [&](const OnMemory& other) {
            return other.finding.rule == each.finding.rule && other.finding.stack == each.finding.stack &&
                   (neighbours.contains(other.memory->site) || each.finding.rule->slows_kernels);
        });
        if (larger != kept.end()) {
            fold(larger->finding, each.finding);
            continue;
        }
        if (!neighbours.empty())
            tell(each.finding, *each.memory, neighbours);
        kept.push_back(std::move(each));
    }
    std::vector<Finding> findings;
    for (OnMemory& each : kept)
        findings.push_back(std::move(each.finding));
    return findings;
}

} // namespace umadvisor::rules
