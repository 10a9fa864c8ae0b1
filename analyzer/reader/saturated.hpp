/// Counts that do not wrap, whatever a damaged trace makes of them.
#pragma once

#include <cstdint>

namespace umadvisor::reader {

/// `value` without its fraction; the nearest number there is where 64 bits do not hold it, as a damaged trace
/// may have it: the language does not say what a conversion makes of that ([conv.fpint]).
constexpr std::uint64_t saturated(double value) {
    constexpr double beyond = 18446744073709551616.0; // 2^64
    return value >= beyond ? UINT64_MAX : value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

constexpr std::uint64_t saturated_sum(std::uint64_t a, std::uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

constexpr std::uint64_t saturated_product(std::uint64_t a, std::uint64_t b) {
    return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

constexpr void add_saturated(std::uint64_t& to, std::uint64_t value) {
    to = saturated_sum(to, value);
}

} // namespace umadvisor::reader
