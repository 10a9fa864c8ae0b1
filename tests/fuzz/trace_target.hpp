/// What is fuzzed: everything that `report`, `stats` and `dump` do with a file.
#pragma once

#include <cstddef>
#include <cstdint>

namespace umadvisor::fuzz {

/// Reads `bytes` as a trace, reports and dumps it. Returns whether it was readable; anything but that or a
/// reader::Error is a bug and comes out as a crash.
bool read_trace(const std::uint8_t* bytes, std::size_t size);

} // namespace umadvisor::fuzz
