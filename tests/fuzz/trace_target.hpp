/// What is fuzzed: everything that `report`, `stats` and `dump` do with a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace umadvisor::fuzz {

/// Makes the checksums of a trace right: a fuzzer would never get past them.
void seal(std::vector<std::uint8_t>& bytes);

/// Reads `bytes` as a trace, reports and dumps it. Returns whether it was readable; anything but that or a
/// reader::Error is a bug and comes out as a crash.
bool read_trace(const std::uint8_t* bytes, std::size_t size);

} // namespace umadvisor::fuzz
