/// Counts that were calculated in floating point.
#pragma once

#include <cstdint>

namespace umadvisor::reader {

/// `value` without its fraction; the nearest number there is where 64 bits do not hold it, as a damaged trace
/// may have it: the language does not say what a conversion makes of that ([conv.fpint]).
constexpr std::uint64_t saturated(double value) {
    constexpr double beyond = 18446744073709551616.0; // 2^64
    return value >= beyond ? UINT64_MAX : value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

} // namespace umadvisor::reader
