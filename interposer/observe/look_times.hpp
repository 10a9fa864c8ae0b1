/// When the program looked: a question that is answered later.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace umadvisor::observe {

/// Remembers moments, the latest `most` of them, until what happened up to them is known. Any thread adds, one
/// reads. Fine as zeroed memory, and large (0.5 MiB).
class LookTimes {
public:
    static constexpr std::uint64_t most = 1 << 16;
    static constexpr std::uint64_t never = ~std::uint64_t{0};

    /// `time` in ticks, not 0. Overwrites the oldest where nobody reads. Lock-free.
    void add(std::uint64_t time) noexcept {
        const std::uint64_t number = added_.fetch_add(1, std::memory_order_relaxed);
        times_[number % most].store(time, std::memory_order_release);
    }

    /// The oldest moment that is left, if it is not after `last`; else `never`.
    std::uint64_t take_until(std::uint64_t last) noexcept {
        const std::uint64_t added = added_.load(std::memory_order_acquire);
        if (added > taken_ + most)
            taken_ = added - most;
        if (taken_ == added)
            return never;
        const std::uint64_t time = times_[taken_ % most].load(std::memory_order_acquire);
        if (time == 0 || time > last) // 0: it is just being added
            return never;
        ++taken_;
        return time;
    }

private:
    std::atomic<std::uint64_t> added_{0};
    std::uint64_t taken_ = 0;
    std::atomic<std::uint64_t> times_[most]{};
};

} // namespace umadvisor::observe
