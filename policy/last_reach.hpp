/// Which launch is the last to reach an allocation before the program waits for it.
#pragma once

#include <cstdint>

namespace umadvisor::policy {

/// Learned over the rounds of a loop: an allocation that two waits in a row at one place came after as many
/// launches is expected to be waited for after so many again. Launches on several streams tell nothing: one may
/// be under way when the last is done. Not thread-safe: its owner's lock covers it. Forgets rather than grows.
class LastReach {
public:
    constexpr LastReach() noexcept = default;

    /// The wait that is expected after a launch, before another reaches the allocation.
    struct NextWait {
        std::uint64_t place = 0;     ///< as wait() had it; 0: not known
        std::uint64_t meanwhile = 0; ///< nanoseconds from the launch to where it began, last time
    };

    /// A launch on `stream` is about to reach the allocation. `now`: nanoseconds of any clock.
    NextWait launch(std::uint64_t address, std::uint64_t bytes, std::uint64_t stream,
                    std::uint64_t now) noexcept;

    /// The program has waited at `place`, from `begun` on (0: not known), for launches that reached the
    /// allocation.
    void wait(std::uint64_t address, std::uint64_t bytes, std::uint64_t place, std::uint64_t begun) noexcept;

private:
    /// Not by its id: what is allocated anew in each round mostly comes to stand where it stood.
    struct Turns {
        std::uint64_t key, stream, place;
        std::uint64_t last;               ///< time of the last launch
        std::uint64_t meanwhile;          ///< from there to the wait
        std::uint32_t launches, expected; ///< since the last wait, and before it
        std::int32_t agreed; ///< waits in a row that were as the one before; less than 0: it was wrong
        bool several_streams, told;
    };

    Turns& find(std::uint64_t address, std::uint64_t bytes) noexcept;

    static constexpr std::uint64_t slots = 1024;
    static constexpr std::int32_t believed = 1, distrusted = -8;
    Turns turns_[slots] = {};
};

} // namespace umadvisor::policy
