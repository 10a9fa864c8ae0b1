/// Shared memory of recorded programs that were killed (trace/segment.hpp) and whose traces were not read yet.
#pragma once

#include <cstdint>
#include <vector>

namespace umadvisor::cli {

struct LeftSegment {
    int id = 0;              ///< shmget(2)
    std::uint64_t bytes = 0; ///< of memory and swap that it takes
    std::int64_t made = 0;   ///< seconds since 1970
};

/// This user's segments that no process has attached and whose maker is dead; the latest first. Nothing is
/// removed: a trace may still need its segment, and a segment does not name its trace.
std::vector<LeftSegment> left_segments();

} // namespace umadvisor::cli
