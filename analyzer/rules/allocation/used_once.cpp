/// Device memory that is used in one short moment and held for long, when most is live.
#include "analyzer/rules/wasted_memory.hpp"
#include "analyzer/rules/words.hpp"

namespace umadvisor::rules {
namespace {

void describe_used_once(const Profile& profile, const WastedLine& line, Finding& finding) {
    finding.summary = fmt::format("{}, held for {} and used only within 1% of that time",
                                  allocations_text(profile, line), time_text(line.mean_life_ns()));
    finding.evidence.emplace_back("mean_idle_ns", line.mean_idle_ns());
    finding.advice = fmt::format(
        "allocate it only for that use: {}",
        profile.uses_runtime()
            ? "cudaMallocAsync before and cudaFreeAsync after the call that uses it, on its stream"
            : "cuMemAllocAsync before and cuMemFreeAsync after the call that uses it, on its stream");
    finding.confidence = confidence_at_peak(profile, line);
}

} // namespace

constinit const Rule uma_403{
    .id = "UMA-403",
    .name = "used-once",
    .title = "device memory held long for a short time of use",
    .find = &find_wasted<uma_403, trace::Memory::device, tables::Waste::used_once, describe_used_once>};

} // namespace umadvisor::rules
