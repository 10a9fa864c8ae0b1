#pragma once

#include "residency/geometry.hpp"

#include <atomic>

namespace simcuda {

using Nanoseconds = umadvisor::residency::Nanoseconds;

/// Virtual time of the host. Starts above zero because programs take a zero timestamp for "never". Thread-safe.
class Clock {
public:
    Nanoseconds now() const { return now_.load(std::memory_order_relaxed); }
    void advance(Nanoseconds by) { now_.fetch_add(by, std::memory_order_relaxed); }
    /// Waits until `then`; a time already past costs nothing.
    void advance_to(Nanoseconds then) {
        Nanoseconds seen = now();
        while (seen < then && !now_.compare_exchange_weak(seen, then, std::memory_order_relaxed)) {
        }
    }

private:
    std::atomic<Nanoseconds> now_{1'000'000};
};

} // namespace simcuda
