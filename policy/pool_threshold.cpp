#include "policy/pool_threshold.hpp"

#include <algorithm>

namespace umadvisor::policy {

void PoolThreshold::reserved(std::uint64_t bytes) noexcept {
    grown_ = false;
    ++looks_;
    high_ = std::max(high_, bytes);
    greatest_ = std::max(greatest_, bytes);
}

std::uint64_t PoolThreshold::after_wait(std::uint64_t bytes) noexcept {
    const bool fell = high_ >= bytes + least_bytes;
    if (!fell && ++waits_ < waits_per_round)
        return 0;
    const bool refilled = fallen_ != 0 && high_ >= low_ + fallen_ / 4 * 3;
    refills_ = refilled ? refills_ + 1 : 0;
    low_ = bytes;
    fallen_ = fell ? high_ - bytes : 0;
    looks_ = 0;
    waits_ = 0;
    high_ = 0;
    if (fell && refills_ >= enough && greatest_ > kept_)
        return greatest_;
    if (--rounds_left_ == 0)
        rest();
    return 0;
}

/// So many allocations have come since the last part, or since it was raised.
void PoolThreshold::end_part() noexcept {
    loses_ = kept_ != 0 && mean_before_ != 0 && 10 * latest_.mean() > 11 * mean_before_;
    latest_ = {};
}

void PoolThreshold::raised(std::uint64_t bytes) noexcept {
    if (kept_ == 0)
        mean_before_ = latest_.mean();
    latest_ = {};
    kept_ = bytes;
    begin_spell(later_spell);
}

void PoolThreshold::gave_back() noexcept {
    kept_ = 0;
    greatest_ = 0;
    latest_ = {};
    begin_spell(later_spell);
}

void PoolThreshold::begin_spell(std::uint32_t rounds) noexcept {
    rest_ = 0;
    rounds_left_ = rounds;
    refills_ = 0;
    looks_ = 0;
    waits_ = 0;
    high_ = 0;
    fallen_ = 0;
}

void PoolThreshold::rest() noexcept {
    rest_ = next_rest_;
    next_rest_ *= 2;
}

std::uint64_t pool_share(std::uint64_t wanted, std::uint64_t kept, std::uint64_t kept_by_all,
                         std::uint64_t free, unsigned halvings) noexcept {
    // What the pools keep and nothing uses is not free, but would be without us.
    const std::uint64_t budget = halvings < 32 ? (free / 4) >> halvings : 0;
    const std::uint64_t others = kept_by_all - std::min(kept_by_all, kept);
    const std::uint64_t room = budget - std::min(budget, others);
    const std::uint64_t share = std::min(wanted, room);
    return share > kept && share >= wanted / 2 && share >= PoolThreshold::least_bytes ? share : 0;
}

} // namespace umadvisor::policy
