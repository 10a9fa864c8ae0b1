/// Device memory that is allocated long before its first use or kept long after its last, when most is live.
#include "analyzer/rules/wasted_memory.hpp"
#include "analyzer/rules/words.hpp"

namespace umadvisor::rules {
namespace {

void describe_idle(const Profile& profile, const WastedLine& line, Finding& finding) {
    finding.summary = fmt::format("{}, not used for {} of {}, which includes the moment of peak memory use",
                                  allocations_text(profile, line), time_text(line.mean_idle_ns()),
                                  time_text(line.mean_life_ns()));
    finding.evidence.emplace_back("mean_idle_ns", line.mean_idle_ns());
    finding.advice = profile.uses_runtime()
                         ? "cudaMalloc it just before its first use and cudaFree it after the last; or "
                           "cudaMallocAsync and cudaFreeAsync around each phase that uses it"
                         : "cuMemAlloc it just before its first use and cuMemFree it after the last; or "
                           "cuMemAllocAsync and cuMemFreeAsync around each phase that uses it";
    finding.confidence = confidence_at_peak(profile, line);
}

} // namespace

constinit const Rule uma_301{
    .id = "UMA-301",
    .name = "idle-memory",
    .title = "device memory idle at the peak",
    .find = &find_wasted<uma_301, trace::Memory::device, tables::Waste::idle, describe_idle>};

} // namespace umadvisor::rules
