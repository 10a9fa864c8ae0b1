/// Checksum of a sealed chunk: finds damage, is no protection against forgery.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace umadvisor::trace {

/// 64-bit multiply-rotate hash over little-endian words, the tail padded with zeros; about 2 bytes a cycle, so
/// sealing a chunk costs nothing that shows. The algorithm is part of the format (FORMAT.md).
inline std::uint64_t checksum(const std::uint8_t* data, std::size_t bytes) noexcept {
    std::uint64_t hash = 0x9e3779b97f4a7c15u ^ bytes;
    for (std::size_t at = 0; at < bytes; at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, data + at, bytes - at < 8 ? bytes - at : 8);
        hash = std::rotl((hash ^ word) * 0xff51afd7ed558ccdu, 31);
    }
    return hash;
}

} // namespace umadvisor::trace
