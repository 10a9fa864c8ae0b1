/// What a full trace knows of the calls whose records it dropped.
#pragma once

#include "analyzer/ids/stack_id.hpp"

#include <cstdint>
#include <vector>

namespace umadvisor::reader {

class TraceFile;

/// Calls of one entry point, kernel and stack.
struct DroppedCalls {
    bool known = true; ///< false: all sites that found no slot of their own
    std::uint64_t entry = 0, function = 0;
    ids::StackId stack{};
    std::uint64_t calls = 0, failed = 0, bytes = 0, ticks = 0;
};

/// The dropped calls of all summary chunks, the longest first; empty when nothing was dropped.
std::vector<DroppedCalls> read_summary(TraceFile& file);

} // namespace umadvisor::reader
