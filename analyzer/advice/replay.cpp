#include "analyzer/advice/replay.hpp"

#include "analyzer/facts/calls.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/reader/event_stream.hpp"
#include "analyzer/timeline/clock.hpp"

#include <algorithm>
#include <variant>

namespace umadvisor::advice {

Replayed replay(const rules::Profile& profile, const std::vector<timeline::Edit>& edits,
                std::size_t watched) try {
    if (edits.empty())
        return {};
    reader::TraceFile file(profile.trace().file.source().opened());
    facts::Calls calls(profile.trace(), profile.rates());
    timeline::Clock clock({}, edits);
    clock.know(profile.clock());
    clock.watch(watched, static_cast<double>(profile.duration_ns()));
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
    const auto run_end = static_cast<double>(profile.recorded_ns());
    return {clock.gains(run_end), clock.spared(run_end)};
} catch (const reader::Error&) {
    return {};
}

} // namespace umadvisor::advice
