/// Synchronisations long before the host needs what they wait for: it goes on to something else, and the device
/// stands still.
#include "analyzer/rules/gap_lines.hpp"

namespace umadvisor::rules {
namespace {

void describe_early_sync(const Profile& profile, const GapLine& line, Finding& finding) {
    // The program may use it to measure time, or to look for errors.
    finding.confidence = Confidence::medium;
    if (line.inputs) {
        const std::string prefix = profile.uses_runtime() ? "cuda" : "cu";
        finding.summary = turns_text(profile, line) +
                          "; the host waits for an upload, which waits for work on another stream";
        finding.advice = fmt::format("queue the upload and wait for it before {}StreamWaitEvent makes its "
                                     "stream wait for the other; or remove this wait, and wait for an event "
                                     "recorded after the upload before the host writes the source again",
                                     prefix);
        return;
    }
    finding.summary = turns_text(profile, line) + ", though the host cannot access anything that it waited for";
    finding.advice = "synchronise where the result is needed, after the host's own work and the next launches; "
                     "a synchronous copy to the host on the same stream waits anyway";
}

} // namespace

constinit const Rule uma_502{
    .id = "UMA-502",
    .name = "early-sync",
    .title = "synchronisations earlier than needed",
    .find = &find_gaps<uma_502, describe_early_sync, WaitReason::needless, WaitReason::inputs>,
    .counter = &count<IdleGaps>,
    .order = OrderUse::wait};

} // namespace umadvisor::rules
