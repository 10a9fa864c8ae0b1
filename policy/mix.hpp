/// Keys made of several numbers.
#pragma once

#include <cstdint>

namespace umadvisor::policy {

/// Each bit of the result depends on all bits of both, so any part of it will do as a place in a table. Its
/// steps are MurmurHash3's (A. Appleby, 2011).
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15;
    hash = (hash ^ hash >> 32) * 0xff51afd7ed558ccd;
    return hash ^ hash >> 32;
}

/// A key of which 0 says that it is not known: nor is what is made of it.
constexpr std::uint64_t mix_known(std::uint64_t hash, std::uint64_t value) noexcept {
    return hash == 0 || value == 0 ? 0 : mix(hash, value) | 1;
}

} // namespace umadvisor::policy
