/// Which part of a run a trace has.
#pragma once

#include "analyzer/reader/trace.hpp"

#include <string>
#include <string_view>

namespace umadvisor::reports {

/// Why there is the recording, in a word of JSON: "attach", "trigger", "ring", "snapshot".
std::string_view cause_word(trace::PauseCause cause);

/// One sentence without a full stop: which part of the run the trace has, why, and what it cannot know. Empty
/// where it has the whole run.
std::string recording_text(const reader::Trace& trace);

} // namespace umadvisor::reports
