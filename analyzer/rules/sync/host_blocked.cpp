/// Host and device take turns: while one works the other waits, round by round.
#include "analyzer/rules/gap_lines.hpp"

namespace umadvisor::rules {
namespace {

void describe_host_blocked(const Profile& profile, const GapLine& line, Finding& finding) {
    finding.summary = turns_text(profile, line);
    finding.advice = fmt::format(
        "use two sets of buffers: launch the next round on one before the host works on the results of the "
        "previous round in the other, and wait with {} for that round only",
        profile.uses_runtime() ? "cudaEventSynchronize" : "cuEventSynchronize");
    // Whether a round needs what the host made of the last is not known.
    finding.confidence = Confidence::low;
}

} // namespace

constinit const Rule uma_505{.id = "UMA-505",
                             .name = "host-blocked",
                             .title = "host and device take turns",
                             .find = &find_gaps<uma_505, describe_host_blocked, WaitReason::results>,
                             .counter = &count<IdleGaps>,
                             .same_calls_as = &uma_129,
                             .order = OrderUse::wait,
                             .moves_own_line_only = true};

} // namespace umadvisor::rules
