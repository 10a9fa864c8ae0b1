/// Calls that wait for the device though they are there for something else, after which it stands still.
#include "analyzer/rules/gap_lines.hpp"

namespace umadvisor::rules {
namespace {

void describe_implicit_sync(const Profile& profile, const GapLine& line, Finding& finding) {
    finding.summary = turns_text(profile, line) + ", although the call is not a synchronisation";
    finding.advice = fmt::format(
        "keep waits out of the loop: free with {}, or after the loop; copy asynchronously from and to "
        "page-locked memory, and wait only for that copy (an event) before the host uses its buffer",
        profile.uses_runtime() ? "cudaFreeAsync(ptr, stream) what cudaMallocAsync allocated"
                               : "cuMemFreeAsync what cuMemAllocAsync allocated");
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
