/// Pieces of structures that launches are given by value, and what they came to, so that bytes which are the
/// same again are compared, which a processor does 16 or 32 at a time, and not summed word by word.
#pragma once

#include "interposer/record/fingerprint.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace umadvisor::record {

/// Belongs to one thread. All zeros: empty.
struct PieceMemo {
    /// Of a structure of 4 KiB where some numbers change from launch to launch, most pieces stay the same.
    static constexpr std::size_t max_words = 128, min_words = 16; ///< of a piece; fewer are as well summed
    static constexpr int bits = 8;

    struct alignas(64) Piece {
        std::uint64_t held[max_words];
        std::uint64_t words;     ///< of `held`; 0: no piece yet
        std::uint64_t low, span; ///< words that counted: those less than `span` after `low`
        Fingerprint::Value sum;
    };
    Piece pieces[std::size_t{1} << bits];

    /// Where a piece of so many words is remembered: by what it is a piece of and four of its words, since one
    /// kernel's launches in turn get different structures.
    Piece& place(std::uint64_t whose, const char* at, std::size_t words) noexcept {
        std::uint64_t mixed = whose;
        for (std::size_t i = 0; i < 4; ++i) {
            std::uint64_t word = 0;
            std::memcpy(&word, at + i * (words / 4) * sizeof word, sizeof word);
            mixed ^= word << 7 * i;
        }
        return pieces[mixed * 0x9e3779b97f4a7c15u >> (64 - bits)];
    }
};

} // namespace umadvisor::record
