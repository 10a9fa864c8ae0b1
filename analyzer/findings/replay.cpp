#include "analyzer/findings/replay.hpp"

#include "analyzer/facts/calls.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/reader/event_stream.hpp"
#include "analyzer/timeline/clock.hpp"

#include <algorithm>
#include <variant>

namespace umadvisor::findings {

std::vector<timeline::Gain> replay(const model::Profile& profile,
                                   const std::vector<timeline::Edit>& edits) try {
    if (edits.empty())
        return {};
    reader::TraceFile file(profile.trace().file.source().opened());
    facts::Calls calls(profile.trace(), profile.rates());
    timeline::Clock clock({}, edits);
    clock.know(profile.clock());
    reader::EventStream events(file, profile.trace().choice());
    while (const reader::ThreadCursor* const cursor = events.next()) {
        if (const auto* const time = std::get_if<trace::DeviceTime>(&cursor->event()))
            clock.measured(
                time->sample,
                static_cast<double>(time->nanoseconds - std::min(time->nanoseconds, time->floor_nanoseconds)));
        if (const std::optional<facts::Call> call = calls.next(*cursor))
            clock.add(*call);
    }
    clock.finish();
    return clock.gains(static_cast<double>(profile.recorded_ns()));
} catch (const reader::Error&) {
    return {};
}

} // namespace umadvisor::findings
