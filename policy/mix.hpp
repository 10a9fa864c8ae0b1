/// Keys made of several numbers.
#pragma once

#include <cstdint>

namespace umadvisor::policy {

/// Each bit of the result depends on all bits of both, so any part of it can index a table. The steps are
/// MurmurHash3's (A. Appleby, 2011).
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15;
    hash = (hash ^ hash >> 32) * 0xff51afd7ed558ccd;
    return hash ^ hash >> 32;
}

/// The same for keys of which 0 means not known: then the result is not known either.
constexpr std::uint64_t mix_known(std::uint64_t hash, std::uint64_t value) noexcept {
    return hash == 0 || value == 0 ? 0 : mix(hash, value) | 1;
}

} // namespace umadvisor::policy
