/// Device memory that no kernel, copy or memory set ever reached.
#include "analyzer/rules/wasted_memory.hpp"
#include "analyzer/rules/words.hpp"

namespace umadvisor::rules {
namespace {

void describe_never_used(const Profile& profile, const WastedLine& line, Finding& finding) {
    finding.summary = fmt::format("{}, held for {}: no kernel, copy or memory set reached it",
                                  allocations_text(profile, line), time_text(line.mean_life_ns()));
    finding.evidence.emplace_back("call_time_ns", line.call_ns);
    finding.advice = "remove the allocation, or move it to its first use";
    // A kernel may find its address in other memory, or in a tensor map.
    finding.confidence = Confidence::low;
}

} // namespace

constinit const Rule uma_402{
    .id = "UMA-402",
    .name = "never-used",
    .title = "device memory that is never used",
    .find = &find_wasted<uma_402, trace::Memory::device, tables::Waste::never_used, describe_never_used>};

} // namespace umadvisor::rules
