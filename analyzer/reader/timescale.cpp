#include "analyzer/reader/timescale.hpp"

#include "analyzer/reader/event_stream.hpp"
#include "analyzer/reader/saturated.hpp"
#include "analyzer/reader/trace_file.hpp"

#include <limits>
#include <variant>

namespace umadvisor::reader {
namespace {

/// A rate from pairs closer than this would carry the error of reading them.
constexpr std::uint64_t enough_ns = 1'000'000;

double clamp_to(double value, double limit) {
    return value >= limit ? limit : value <= -limit ? -limit : value;
}

} // namespace

Timescale::Timescale(TraceFile& file) {
    const Header& header = file.header();
    first_ = header.first.ticks;
    if (header.clock != trace::ClockKind::tsc)
        return;
    trace::ClockPair last = header.last;
    const auto usable = [&] {
        return last.ticks > header.first.ticks && last.monotonic_ns > header.first.monotonic_ns;
    };
    if (!usable() || last.monotonic_ns - header.first.monotonic_ns < enough_ns) {
        const Completeness before = file.completeness(); // the events are read again later: count losses once
        EventStream events(file);
        while (const ThreadCursor* cursor = events.next())
            if (const auto* clock = std::get_if<trace::Clock>(&cursor->event()))
                if (clock->start > last.ticks)
                    last = {clock->start, clock->monotonic_ns};
        file.completeness() = before;
    }
    certain_ = usable();
    if (certain_)
        rate_ = static_cast<double>(last.monotonic_ns - header.first.monotonic_ns) /
                static_cast<double>(last.ticks - header.first.ticks);
}

std::int64_t Timescale::at(std::uint64_t ticks) const {
    const auto difference = static_cast<std::int64_t>(ticks - first_);
    return static_cast<std::int64_t>(clamp_to(static_cast<double>(difference) * rate_, 9e18));
}

std::uint64_t Timescale::length(std::uint64_t ticks) const {
    return estimate(static_cast<double>(ticks));
}

std::uint64_t Timescale::estimate(double ticks) const {
    return saturated(ticks * rate_);
}

} // namespace umadvisor::reader
