/// Which part of a run is recorded, and what the program calls its parts. All since version 1.1.
#pragma once

#include "trace/types.hpp"

namespace umadvisor::trace {

/// Recording ends or goes on. Between the two, only what later records refer to is in the trace (allocations,
/// streams, events, modules).
struct Pause {
    static constexpr Type type = Type::pause;
    static constexpr std::string_view name = "Pause";
    std::uint64_t start = 0;     ///< ticks
    std::uint64_t recording = 0; ///< 1: from here on calls are recorded
    PauseCause cause{};

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("start", r.start);
        v.number("recording", r.recording);
        v.number("cause", r.cause);
    }
};

/// One end of a range that the program has named (NVTX).
struct Range {
    static constexpr Type type = Type::range;
    static constexpr std::string_view name = "Range";
    std::uint64_t start = 0; ///< ticks
    RangeAction action{};
    std::uint64_t text = 0;   ///< string: what the range is called; 0 at its end
    std::uint64_t domain = 0; ///< string: name of the NVTX domain; 0: the default one
    std::uint64_t id = 0;     ///< of ranges that any thread may end

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("start", r.start);
        v.number("action", r.action);
        v.number("text", r.text);
        v.number("domain", r.domain);
        v.number("id", r.id);
    }
};

} // namespace umadvisor::trace
