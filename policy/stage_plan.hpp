/// Which copies are staged, and in which pieces. It is decided from plain numbers, without CUDA.
#pragma once

#include "trace/copy_records.hpp"

#include <cstddef>
#include <cstdint>

namespace umadvisor::policy {

// Tuned on H200 machines with 16 cores.
inline constexpr std::uint64_t staged_to_device_from = 2u
                                                       << 20; ///< bytes of a copy; shorter ones are left alone
inline constexpr std::uint64_t staged_to_host_from = 4u << 20;
inline constexpr unsigned stage_buffers = 8; ///< of a ring
inline constexpr std::uint64_t staged_row_least = 1u
                                                  << 10; ///< bytes; the device moves short rows slowly anyway
inline constexpr std::uint64_t staged_row_most = 2u << 20;
inline constexpr std::size_t stage_buffer_bytes = 4u << 20; ///< pinned, each
/// The size at first: to pin 8 MiB takes 4 ms, and 32 MiB take 16 ms for a tenth more speed.
inline constexpr std::size_t stage_first_buffer_bytes = 1u << 20;
inline constexpr std::uint64_t stage_grown_after = 1u << 30; ///< bytes that have passed a ring
inline constexpr std::size_t stage_piece_least = 512u << 10; ///< a transfer by itself costs some microseconds
inline constexpr std::size_t stage_slice_bytes = 64u << 10;  ///< of a buffer, that one thread copies at a time
inline constexpr unsigned stage_threads = 12;                ///< beside the one that makes the copy
inline constexpr unsigned stage_few_threads = 8; ///< for short copies: to wake more takes longer than they save
inline constexpr std::size_t stage_cached_from = 48; ///< pieces; with 32 it takes as long
inline constexpr unsigned stage_rings = 8;           ///< one a context: with 8 and 32 MiB each, 320 at most

enum class StageDirection : std::uint8_t { none, to_device, to_host };

/// The direction of a copy between pageable and device memory, in one dimension or two, that is long enough,
/// not part of a batch and not captured; none for other copies.
StageDirection stage_direction(const trace::Copy& copy) noexcept;

/// The rows of a copy in two dimensions. In a buffer they are contiguous.
struct StageRows {
    std::uint64_t width = 0; ///< bytes; 0: one dimension
    std::uint64_t host_pitch = 0, device_pitch = 0;
};
StageRows stage_rows(const trace::Copy& copy, StageDirection direction) noexcept;

/// The pieces of a copy, each of which passes through one buffer.
class StagePlan {
public:
    /// At least one byte, through buffers of `buffer_bytes`. Short copies have smaller pieces, so that the
    /// first one is transferred while others are filled. Rows, of which none is longer than a buffer, stay
    /// whole.
    StagePlan(std::uint64_t bytes, std::size_t buffer_bytes, std::uint64_t row = 1) noexcept;

    std::size_t count() const noexcept { return static_cast<std::size_t>((bytes_ + piece_ - 1) / piece_); }
    std::uint64_t offset(std::size_t piece) const noexcept { return piece * piece_; }
    std::size_t bytes(std::size_t piece) const noexcept;

private:
    std::uint64_t bytes_, piece_;
};

/// How the threads copy a piece.
struct StageManner {
    unsigned threads; ///< beside the caller
    bool past_caches;
};

/// For a copy of `pieces` pieces. `cached`: the ring stays in a cache that the device reads from.
///
/// The device reads at its full rate what the cores' own caches have evicted to the shared cache. It reads
/// slower from memory that the threads write to meanwhile, and slowest what is still in one core's own cache:
/// that is the last pieces of a copy, since no later writes evict them.
StageManner stage_manner(std::size_t piece, std::size_t pieces, bool cached) noexcept;

/// Threads beside the caller where the process may run on `cores` cores; 0: staging would not pay.
unsigned stage_threads_for(unsigned cores) noexcept;

/// Bytes that copies moved, and the time that they took.
struct StagePace {
    std::uint64_t bytes = 0, ticks = 0;

    bool faster_than(const StagePace& other) const noexcept;
};

/// Whether staging pays at a call site: now and then the driver makes a copy, and its speed is compared with
/// that of staged copies.
///
/// The first comparison comes early, each further one after four times as many copies. If the driver was
/// faster, the next comparison comes soon, and a second loss in a row gives the site up for good. A comparison
/// covers the copies that were staged since the one before, so a single cost, as that of pinning a ring, is in
/// one comparison alone. A site is given up as a whole, so its copies count by their bytes, whatever their
/// lengths.
///
/// With only_measure() no site is given up, and the first comparison comes so late that it costs little.
///
/// Not thread-safe: the owner's lock covers it. Sites beyond `most_sites` are staged, and never compared.
class StageTrials {
public:
    enum class Choice : std::uint8_t { stage, compare, leave };

    constexpr StageTrials() noexcept = default;

    /// Before the first copy: no site is given up.
    void only_measure() noexcept { measures_ = true; }

    /// A copy is about to be made at `site`, which is not 0.
    Choice choose(std::uint64_t site) noexcept;
    /// It was staged.
    void staged(std::uint64_t site, StagePace copy) noexcept;
    /// The driver has made it, to be compared. True: this comparison gave the site up, and `staged` is what the
    /// copy was compared with.
    bool compared(std::uint64_t site, StagePace copy, StagePace& staged) noexcept;

    static constexpr std::size_t most_sites = 256;

private:
    struct Site {
        std::uint64_t name = 0; ///< 0: free
        std::uint64_t copies = 0;
        std::uint64_t next = 0; ///< copy that is compared
        StagePace staged;       ///< since the last comparison
        unsigned losses = 0;    ///< in a row
    };
    /// Nullptr: there is no room.
    Site* find(std::uint64_t name) noexcept;

    bool measures_ = false;
    Site sites_[most_sites] = {};
};

} // namespace umadvisor::policy
