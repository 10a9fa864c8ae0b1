/// What observers may take of the program's time.
#pragma once

#include "interposer/record/clock.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace umadvisor::observe {

/// What the model says of looks beside residency::DecisionPrices, in nanoseconds: reading a few lines of
/// memory, or of the page table; finding one address in /proc/self/maps.
inline constexpr std::uint64_t modelled_look = 1'000, modelled_maps = 30'000;

/// An allowance at first, and 1% of the run time.
class Budget {
public:
    explicit constexpr Budget(std::uint64_t nanoseconds) noexcept : allowance_(nanoseconds) {}

    /// Nanoseconds of the allowance; tests give none or much.
    void set_allowance(std::uint64_t nanoseconds) noexcept {
        allowance_.store(nanoseconds, std::memory_order_relaxed);
    }
    std::uint64_t allowance() const noexcept { return allowance_.load(std::memory_order_relaxed); }

    /// Nanoseconds that may have been spent by `now`. The run time counts from the first call on.
    std::uint64_t by(std::uint64_t now) noexcept {
        std::uint64_t start = 0;
        if (started_.compare_exchange_strong(start, now, std::memory_order_relaxed))
            start = now;
        return allowance() + (now > start ? now - start : 0) / share;
    }
    std::uint64_t so_far() noexcept { return by(record::run_nanoseconds()); }

private:
    static constexpr std::uint64_t share = 100;

    std::atomic<std::uint64_t> allowance_, started_{0};
};

/// What a piece of an observer's work takes, in nanoseconds: under simcuda what the model says, else processor
/// time of the thread, so that preemption on a machine with more threads than cores is not charged.
class Work {
public:
    Work() noexcept : Work(record::thread_nanoseconds) {}

    /// Work so short that reading the thread's clock would take longer. It is never charged more than `most`,
    /// so preemption counts for little.
    static Work brief(std::uint64_t most) noexcept { return {record::monotonic_nanoseconds, most}; }

    std::uint64_t took(std::uint64_t modelled) const noexcept {
        return simulated() ? modelled : std::min(clock_() - begin_, most_);
    }

private:
    using Clock = std::uint64_t (*)() noexcept;

    Work(Clock clock, std::uint64_t most = ~std::uint64_t{0}) noexcept
        : clock_(clock), begin_(simulated() ? 0 : clock()), most_(most) {}

    static bool simulated() noexcept { return record::clock_kind() == trace::ClockKind::simulated; }

    Clock clock_;
    std::uint64_t begin_, most_;
};

} // namespace umadvisor::observe
