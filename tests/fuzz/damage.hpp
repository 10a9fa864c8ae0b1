/// What is done to a trace before a command reads it.
#pragma once

#include "hostile_values.hpp"
#include "trace_image.hpp"

#include <vector>

namespace umadvisor::fuzz {

inline constexpr std::size_t most_bytes = 1'000'000; ///< of one input

/// Changes fields, records and chunks of `image`, with framing and checksums kept right, then now and then
/// bytes of the file. `others` lend chunks and records.
Bytes damaged(TraceImage image, const std::vector<TraceImage>& others, Random& random);

} // namespace umadvisor::fuzz
