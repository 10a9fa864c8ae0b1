/// When a memory pool is to keep what it has reserved.
#pragma once

#include <cstdint>

namespace umadvisor::policy {

/// One pool. A round is what lies between two waits. Only what the pool has reserved counts: if it falls at a
/// wait, and rises again by about as much in the next round, twice running, the pool is to keep as much as it
/// ever had.
///
/// To look costs a call of the driver, so there are spells of rounds that are looked at, with ever longer rests
/// between them.
///
/// Allocations after the threshold was raised are compared with those before it.
class PoolThreshold {
public:
    /// Less is not worth a call of the driver.
    static constexpr std::uint64_t least_bytes = 2u << 20;
    static constexpr std::uint32_t first_spell = 16, later_spell = 8; ///< rounds
    static constexpr std::uint32_t looks_per_round = 4;               ///< before its wait
    static constexpr std::uint64_t first_rest = 256;                  ///< allocations; each is twice as long
    /// A wait may be for another stream than that in which memory is freed, so some do not end a round.
    static constexpr std::uint32_t waits_per_round = 3;
    static constexpr std::uint32_t enough = 2; ///< rounds that took it again

    static constexpr std::uint32_t judged =
        64; ///< allocations before and after, of which the longest is left out

    /// The pool has allocated, in so many ticks.
    void allocated(std::uint64_t ticks) noexcept {
        grown_ = true;
        if (latest_.count == judged)
            end_part();
        latest_.add(ticks);
        if (rest_ != 0 && --rest_ == 0)
            begin_spell(later_spell);
    }

    /// Whether reserved() is to be called now: memory was freed, and the pool has allocated since the last
    /// look.
    bool wants_look() const noexcept { return rest_ == 0 && grown_ && looks_ < looks_per_round; }
    /// Whether after_wait() is to be called after this wait.
    bool wants_wait() const noexcept { return rest_ == 0 && looks_ != 0; }

    /// Before a wait.
    void reserved(std::uint64_t bytes) noexcept;
    /// After it. Returns how much the pool is to keep from now on; 0: as before.
    std::uint64_t after_wait(std::uint64_t bytes) noexcept;

    /// It keeps as much, by a call of ours.
    void raised(std::uint64_t bytes) noexcept;
    /// Whether allocations take longer since it was raised, by more than a tenth: the program's own threshold
    /// is better.
    bool loses() const noexcept { return loses_; }
    /// There is no room for more: looks again after a rest.
    void refused() noexcept { rest(); }
    /// It keeps nothing any more: memory was needed. What was seen before does not count.
    void gave_back() noexcept;
    std::uint64_t kept() const noexcept { return kept_; }

private:
    struct Allocations {
        std::uint32_t count = 0;
        std::uint64_t sum = 0, longest = 0; ///< ticks

        void add(std::uint64_t ticks) noexcept {
            ++count;
            sum += ticks;
            longest = ticks > longest ? ticks : longest;
        }
        std::uint64_t mean() const noexcept { return count > 1 ? (sum - longest) / (count - 1) : 0; }
    };
    void end_part() noexcept;
    void begin_spell(std::uint32_t rounds) noexcept;
    void rest() noexcept;

    std::uint64_t kept_ = 0;
    std::uint64_t rest_ = 0; ///< allocations until the next spell; 0: in a spell
    std::uint64_t next_rest_ = first_rest;
    std::uint64_t greatest_ = 0;
    std::uint64_t high_ = 0;             ///< in this round
    std::uint64_t low_ = 0, fallen_ = 0; ///< after the last wait, and by how much it fell there
    std::uint32_t rounds_left_ = first_spell;
    std::uint32_t refills_ = 0;
    std::uint32_t looks_ = 0; ///< in this round
    std::uint32_t waits_ = 0; ///< in this round, at which it did not fall
    bool grown_ = false;
    Allocations latest_;
    std::uint64_t mean_before_ = 0; ///< ticks of an allocation before it was raised; 0: not known
    bool loses_ = false;
};

/// How much a pool may keep that would like to keep `wanted` bytes and keeps `kept`, on a device where `free`
/// bytes are free and all pools keep `kept_by_all`: together a quarter of what is free, or less after memory
/// was short (`halvings`). 0: it stays as it is, since there would be no room for half of it.
std::uint64_t pool_share(std::uint64_t wanted, std::uint64_t kept, std::uint64_t kept_by_all,
                         std::uint64_t free, unsigned halvings) noexcept;

} // namespace umadvisor::policy
