/// Memory of which copies and memory sets use less than half, and which no kernel reaches.
#include "analyzer/rules/wasted_memory.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <iterator>

namespace umadvisor::rules {
namespace {

void describe_oversized(const Profile& profile, const WastedLine& line, Finding& finding) {
    finding.summary = fmt::format("{}; copies and memory sets used {} of it, and no kernel used it",
                                  allocations_text(profile, line), bytes_text(line.held_bytes - line.bytes));
    finding.advice =
        "allocate only what is used: " +
        bytes_text(static_cast<double>(line.held_bytes - line.bytes) / static_cast<double>(line.count));
    finding.confidence = Confidence::medium;
}

} // namespace

std::vector<Finding> find_oversized(const Profile& profile, const LineOf& line_of) {
    std::vector<Finding> found;
    for (const auto memory : {trace::Memory::device, trace::Memory::pinned})
        std::ranges::move(
            find_wasted(profile, line_of, uma_405, memory, tables::Waste::oversized, describe_oversized),
            std::back_inserter(found));
    return found;
}

constinit const Rule uma_405{.id = "UMA-405",
                             .name = "oversized",
                             .title = "allocations much larger than their used part",
                             .find = &find_oversized};

} // namespace umadvisor::rules
