/// Times at which the driver's totals were asked for; the answers come later.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace umadvisor::observe {

/// A ring of the latest `most` times, kept until it is known what happened up to them. Any thread adds, one
/// reads. Valid as zeroed memory, and large (0.5 MiB).
class LookTimes {
public:
    static constexpr std::uint64_t most = 1 << 16;
    static constexpr std::uint64_t never = ~std::uint64_t{0};

    /// `time` is in ticks and not 0. Overwrites the oldest if the ring is full. Lock-free.
    void add(std::uint64_t time) noexcept {
        const std::uint64_t number = added_.fetch_add(1, std::memory_order_relaxed);
        times_[number % most].store(time, std::memory_order_release);
    }

    /// Removes the oldest time and returns it, if it is not after `last`; else returns `never`.
    std::uint64_t take_until(std::uint64_t last) noexcept {
        const std::uint64_t added = added_.load(std::memory_order_acquire);
        if (added > read_ + most)
            read_ = added - most;
        if (read_ == added)
            return never;
        const std::uint64_t time = times_[read_ % most].load(std::memory_order_acquire);
        if (time == 0 || time > last) // 0: another thread is adding it
            return never;
        ++read_;
        return time;
    }

private:
    std::atomic<std::uint64_t> added_{0};
    std::uint64_t read_ = 0;
    std::atomic<std::uint64_t> times_[most]{};
};

} // namespace umadvisor::observe
