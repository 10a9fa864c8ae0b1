/// What happens to managed memory, as the driver itself tells it.
#pragma once

#include "interposer/observe/managed_batch.hpp"

#include <atomic>
#include <cstdint>

namespace umadvisor::observe {

/// Watches from the first managed allocation on: through the driver's tools queue (queue_watch.hpp), or through
/// CUPTI where that was asked for (cupti_watch.hpp). Off where the options, the driver's release or the machine
/// do not allow it; the report then says why, and residency is sampled by pagemap. Safe from any thread.
class ManagedWatch {
public:
    /// The program has managed memory. One load from the second time on. May block for a moment the first time.
    void begin() noexcept {
        if (!begun_.load(std::memory_order_relaxed))
            start();
    }

    /// The program is about to have managed memory. CUPTI counts what is allocated once it has been set up.
    void before_allocation() noexcept {
        if (!begun_.load(std::memory_order_relaxed) && begins_early())
            start();
    }

    /// A launch, or the end of a wait: tells the driver's totals where they have changed. One load while
    /// nothing is watched.
    void look() noexcept {
        if (counting_.load(std::memory_order_relaxed))
            look_at_counters();
    }

    /// A number that is another one once managed memory may be elsewhere than it was; 0 while that is not
    /// known, as it never is from CUPTI, which tells late. A few loads.
    std::uint64_t activity() const noexcept {
        return counting_.load(std::memory_order_relaxed) ? sum_of_counters() : 0;
    }

    /// Whether the driver tells what moves, be it that nothing has moved yet.
    bool watches() const noexcept;

    /// Begun, and no thread is about to find out who watches.
    bool settled() const noexcept;

    /// Whether events are told as soon as tell() asks for them, as the driver's queue does.
    bool tells_now() const noexcept;

    /// `listener` hears of every event from now on, as ManagedListener says.
    void set_listener(ManagedListener listener) noexcept;

    /// Tells the listener what has happened up to now. A few loads where nothing has since the last time.
    void tell() noexcept;

    /// The listener has no use for what happens next, or has again: until then the driver is not asked for it,
    /// unless the options name the queue or more of its events.
    void rest(bool wanted) noexcept;

    /// The program moved managed memory in a way that the driver's totals may not show: pages that nobody had
    /// yet.
    void note_change() noexcept { changes_.fetch_add(1, std::memory_order_relaxed); }

    /// Takes what is left in the ring and ends the watch. At the end of the trace.
    void finish() noexcept;

    /// In a forked child: gives up what was the parent's.
    void forget() noexcept;

private:
    static bool begins_early() noexcept;
    bool is_spared() const noexcept;
    std::uint64_t sum_of_counters() const noexcept;
    void start() noexcept;
    void look_at_counters() noexcept;

    std::atomic<bool> begun_{false};
    std::atomic<bool> settled_{false};
    std::atomic<bool> counting_{false};
    std::atomic<bool> listened_to_{false};
    std::atomic<std::uint64_t> changes_{1};
};

ManagedWatch& managed_watch() noexcept;

} // namespace umadvisor::observe
