/// Reading what the driver's tools interface writes into memory.
#pragma once

#include "residency/tools_interface.hpp"

#include <atomic>

namespace umadvisor::observe {

/// The reading end of a ring. Refers to memory that the driver writes; one reader at a time.
class ToolsRing {
public:
    constexpr ToolsRing() noexcept = default;
    /// `size` is a power of two.
    ToolsRing(const residency::tools::Entry* entries, std::uint32_t size,
              residency::tools::Control* control) noexcept
        : entries_(entries), control_(control), mask_(size - 1) {}

    /// Calls `visit(entry)` for each new entry, oldest first, at most one ring full. Returns how many.
    template <class Visit>
    std::uint32_t read(Visit&& visit) noexcept {
        std::atomic_ref get(control_->get_behind);
        const std::uint32_t put = std::atomic_ref(control_->put_behind).load(std::memory_order_acquire) & mask_;
        std::uint32_t count = 0;
        std::uint32_t at = get.load(std::memory_order_relaxed) & mask_;
        for (; at != put; at = (at + 1) & mask_, ++count)
            visit(entries_[at]);
        std::atomic_ref(control_->get_ahead).store(at, std::memory_order_relaxed);
        get.store(at, std::memory_order_release);
        return count;
    }

    /// Events that found no room, since the beginning.
    std::uint64_t lost() const noexcept {
        std::uint64_t sum = 0;
        for (std::uint64_t& each : control_->lost)
            sum += std::atomic_ref(each).load(std::memory_order_relaxed);
        return sum;
    }

private:
    const residency::tools::Entry* entries_ = nullptr;
    residency::tools::Control* control_ = nullptr;
    std::uint32_t mask_ = 0;
};

} // namespace umadvisor::observe
