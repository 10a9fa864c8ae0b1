/// Which rounds of the program --act prefetch leaves as they would be without it, so that what it gains is
/// measured. Plain numbers, no CUDA here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace umadvisor::policy {

/// A round begins with a launch that misses memory, the first after a wait, and ends with the next of these at
/// the same call site. Those that are left alone cost the faults that prefetches would have spared. So they are
/// left alone only when that comes to a small share of the time that has passed, all call sites together: short
/// programs are never compared. Short rounds are left alone by the dozen: the driver finds within milliseconds
/// that memory thrashes, and then serves faults otherwise.
///
/// Not thread-safe: its owner's lock covers it. Call sites that there is no room for are never compared.
class ComparedRounds {
public:
    constexpr ComparedRounds() noexcept = default;

    /// A launch at `site`, which is not 0, is about to be made and misses `bytes`; `waits` of its thread came
    /// before it; `now` in nanoseconds. True: nothing is to be brought from now on until a round begins, the
    /// first after `least_ns`.
    bool begins(std::uint64_t site, std::uint64_t bytes, std::uint64_t waits, std::uint64_t now) noexcept;

    /// After begins() was true: when that should have come at the latest.
    std::uint64_t deadline(std::uint64_t site, std::uint64_t now) const noexcept;

    /// `site` launches in a round that another one compares: that tells of it, too.
    void covered(std::uint64_t site) noexcept;

    static constexpr std::size_t most_sites = 64;
    static constexpr std::uint32_t first = 8;  ///< round that may be compared: the first ones are special
    static constexpr std::uint32_t growth = 4; ///< from one to the next
    static constexpr std::uint64_t share = 32; ///< comparing costs one part in so many
    static constexpr std::uint64_t least_ns = 4'000'000;
    static constexpr std::uint64_t ns_bytes = 2; ///< faults both ways move so many in a nanosecond, or more

private:
    struct Site {
        std::uint64_t name = 0; ///< 0: free
        std::uint64_t waits = 0;
        std::uint64_t began = 0, last_ns = 0; ///< the last round
        std::uint32_t rounds = 0, next = first;
        bool covered = false;
    };
    Site* find(std::uint64_t name, bool take) noexcept;

    Site sites_[most_sites] = {};
    std::uint64_t begun_ = 0; ///< the first round of all
    std::uint64_t spent_ns_ = 0;
};

} // namespace umadvisor::policy
