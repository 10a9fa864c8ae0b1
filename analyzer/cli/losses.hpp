/// What is missing from a trace, beside the results of a command.
#pragma once

#include "analyzer/reader/trace.hpp"

namespace umadvisor::cli {

/// One line on stderr where records are missing; none otherwise. After the events were read. Returns whether
/// less was read than a command may stand on that is to fail (reports::lacks_records()).
bool say_losses(const reader::Trace& trace);

} // namespace umadvisor::cli
