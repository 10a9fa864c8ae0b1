/// Hashes for tables of the process. They never get into a trace.
#pragma once

#include "trace/checksum.hpp"

#include <cstdint>
#include <string_view>

namespace umadvisor::base {

/// The upper bits depend on every bit of `word` (Knuth, The Art of Computer Programming 3, 6.4: multiplication
/// by the golden ratio).
constexpr std::uint64_t hash(std::uint64_t word) noexcept {
    return word * 0x9e3779b97f4a7c15u;
}

constexpr std::uint64_t hash(std::uint64_t first, std::uint64_t second) noexcept {
    const std::uint64_t mixed = hash(first) ^ second;
    return hash(mixed ^ mixed >> 32);
}

inline std::uint64_t hash(std::string_view text) noexcept {
    return hash(trace::checksum(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

} // namespace umadvisor::base
