#include "analyzer/reports/recording_text.hpp"

#include "analyzer/reader/shown_name.hpp"
#include "analyzer/text/figures.hpp"

namespace umadvisor::reports {

using trace::PauseCause;

std::string_view cause_word(PauseCause cause) {
    switch (cause) {
    case PauseCause::trigger:
        return "trigger";
    case PauseCause::ring:
        return "ring";
    case PauseCause::snapshot:
        return "snapshot";
    default:
        return "attach";
    }
}

std::string recording_text(const reader::Trace& trace) {
    if (trace.dictionary.recordings.empty() || !trace.file.header().late)
        return {};
    const trace::Recording& recording = trace.dictionary.recordings.front();
    const std::string begun = text::time_text(recording.age_ns) + " after the program had entered CUDA";
    const std::string why = recording.why.empty() ? "" : reader::shown_name(recording.why);
    constexpr std::string_view unknown = "; not known: what copies before it brought, where managed pages "
                                         "were, and what graphs made before it hold";
    switch (recording.cause) {
    case PauseCause::snapshot:
        return fmt::format("this trace has only what was alive {}, and no calls{}{}", begun,
                           why.empty() ? "" : ": ", why);
    case PauseCause::ring:
        if (recording.number > 1)
            return fmt::format(
                "recording {} of the process, which began {}, and of which only the last part is kept "
                "(UMADVISOR_RING){}",
                recording.number, begun, unknown);
        if (trace.file.header().first_lap <= 1)
            return "only the last part of the run is kept; this trace has all of it so far";
        return fmt::format("only the last part of the run is kept (UMADVISOR_RING){}", unknown);
    case PauseCause::trigger:
        return fmt::format("recording {} of the process, which began {}, when this held: {}{}",
                           recording.number, begun, why, unknown);
    default:
        return fmt::format("recording {} of the process, which umadvisor attach began {}{}", recording.number,
                           begun, unknown);
    }
}

} // namespace umadvisor::reports
