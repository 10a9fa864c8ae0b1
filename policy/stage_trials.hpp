/// Whether staging pays at a call site: now and then the driver makes a copy, and its speed is held against
/// that of staged ones. Plain numbers, no CUDA here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace umadvisor::policy {

/// Copies, and what they took.
struct StagePace {
    std::uint64_t bytes = 0, ticks = 0;

    bool faster_than(const StagePace& other) const noexcept;
};

/// The first comparison comes early, each further one after four times as many copies; where the driver was
/// faster, the next comes soon, and twice running gives the site up for good. What happens once, as when a ring
/// is pinned, is in one comparison alone: each takes the copies that were staged since the one before. A site
/// is given up as a whole, so its copies count by their bytes, whatever their lengths.
///
/// Where it is only to be told what staging gains, no site is given up, and the first comparison comes so late
/// that it costs little.
///
/// Not thread-safe: its owner's lock covers it. Sites that there is no room for are staged, and never compared.
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
    /// The driver has made it, to be compared. True: the site was given up for it just now, and `staged` is
    /// what it was held against.
    bool compared(std::uint64_t site, StagePace copy, StagePace& staged) noexcept;

    static constexpr std::size_t most_sites = 256;

private:
    struct Site {
        std::uint64_t name = 0; ///< 0: free
        std::uint64_t copies = 0;
        std::uint64_t next = 0; ///< copy that is compared
        StagePace staged;       ///< since the last comparison
        unsigned losses = 0;    ///< running
    };
    /// Nullptr: there is no room.
    Site* find(std::uint64_t name) noexcept;

    bool measures_ = false;
    Site sites_[most_sites] = {};
};

} // namespace umadvisor::policy
