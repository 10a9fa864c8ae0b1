/// Device memory allocated beside memory of the same size that nothing uses any more.
#include "analyzer/rules/wasted_memory.hpp"
#include "analyzer/rules/words.hpp"

namespace umadvisor::rules {
namespace {

void describe_reusable(const Profile& profile, const WastedLine& line, Finding& finding) {
    finding.summary =
        fmt::format("{}, last used {} before it was freed; meanwhile memory of the same size was allocated",
                    allocations_text(profile, line), time_text(line.mean_idle_ns()));
    finding.evidence.emplace_back("mean_idle_ns", line.mean_idle_ns());
    if (line.other.known())
        finding.places.emplace_back("this allocation could have had the same memory", line.other);
    finding.advice = "reuse this memory instead of the later allocation: it has the same size and is no longer "
                     "needed; another stream must first wait for its last use (an event)";
    finding.confidence = confidence_at_peak(profile, line);
}

} // namespace

constinit const Rule uma_302{
    .id = "UMA-302",
    .name = "reusable-memory",
    .title = "new allocation although memory of the same size is no longer used",
    .find = &find_wasted<uma_302, trace::Memory::device, tables::Waste::reusable, describe_reusable>};

} // namespace umadvisor::rules
