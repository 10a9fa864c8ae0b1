/// Pieces of structures that launches get by value, with their fingerprints, so that unchanged bytes are
/// compared, which a processor does 16 or 32 at a time, and not summed word by word.
#pragma once

#include "interposer/record/fingerprint.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace umadvisor::record {

/// Belongs to one thread. All zeros: empty.
struct PieceMemo {
    /// Small pieces: if some numbers of a structure of 4 KiB change from launch to launch, most pieces stay the
    /// same.
    static constexpr std::size_t max_words = 128,
                                 min_words = 16; ///< of a piece; fewer words are summed as fast
    static constexpr int bits = 8;

    struct alignas(64) Piece {
        std::uint64_t held[max_words];
        std::uint64_t words;     ///< of `held`; 0: no piece yet
        std::uint64_t low, span; ///< words in [low, low + span) were counted
        Fingerprint::Value sum;
    };
    Piece pieces[std::size_t{1} << bits];

    /// The slot for a piece of `words` words. It depends on the parameter (`whose`) and on four of the words,
    /// since the launches of one kernel may alternate between different structures.
    Piece& slot(std::uint64_t whose, const char* at, std::size_t words) noexcept {
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
