/// Calls that wait for the device though they are there for something else, after which it stands still.
#include "analyzer/rules/gap_lines.hpp"

namespace umadvisor::rules {
namespace {

void describe_implicit_sync(const Profile& profile, const GapLine& line, Finding& finding) {
    finding.summary = turns_text(profile, line) + ", although the call is not a synchronisation";
    const bool runtime = profile.uses_runtime();
    if (line.frees)
        finding.advice = fmt::format("free it after the loop, or with {} if {} allocated it",
                                     runtime ? "cudaFreeAsync(ptr, stream)" : "cuMemFreeAsync(ptr, stream)",
                                     runtime ? "cudaMallocAsync" : "cuMemAllocAsync");
    else
        finding.advice = fmt::format(
            "keep the wait out of the loop: {} from and to page-locked memory, and wait only for that copy "
            "({} behind it, {}) before the host uses its buffer",
            runtime ? "cudaMemcpyAsync" : "cuMemcpyAsync", runtime ? "cudaEventRecord" : "cuEventRecord",
            runtime ? "cudaEventSynchronize" : "cuEventSynchronize");
    finding.confidence = Confidence::medium;
}

} // namespace

constinit const Rule uma_503{
    .id = "UMA-503",
    .name = "implicit-sync",
    .title = "calls that synchronise implicitly",
    .find = &find_gaps<uma_503, describe_implicit_sync, WaitReason::unasked, WaitReason::freed>,
    .counter = &count<IdleGaps>,
    .order = OrderUse::wait};

} // namespace umadvisor::rules
