/// What happens to managed memory, reported by the driver itself.
#pragma once

#include "interposer/observe/driver_settings.hpp"
#include "interposer/observe/managed_batch.hpp"
#include "trace/managed_records.hpp"

#include <atomic>
#include <cstdint>

namespace umadvisor::observe {

/// Watches from the first managed allocation on: through the driver's tools queue (queue_watch.hpp), or through
/// CUPTI if the options ask for it (cupti_watch.hpp). Off if the options, the driver's release or the machine
/// do not allow it; the report then says why, and residency is sampled by pagemap. Safe from any thread.
class ManagedWatch {
public:
    /// The program has managed memory. One load from the second time on. May block for a moment the first time.
    void begin() noexcept {
        if (!begun_.load(std::memory_order_relaxed) && is_wanted())
            start();
    }

    /// A recording begins, or ends, of a process that may have several. Between two of them the driver reports
    /// nothing.
    void wake() noexcept;
    void rest() noexcept;
    /// Records what the driver has reported so far. Called before the recording ends.
    void deliver_rest() noexcept;

    /// The program is about to have managed memory. CUPTI counts what is allocated once it has been set up.
    void before_allocation() noexcept {
        if (!begun_.load(std::memory_order_relaxed) && begins_early())
            start();
    }

    /// Called at a launch and at the end of a wait: records the driver's totals if they have changed. One load
    /// while nothing is watched.
    void look() noexcept {
        if (counting_.load(std::memory_order_relaxed))
            look_at_counters();
    }

    /// Fills in the driver's totals up to now, without recording them. False where they cannot be read: nothing
    /// is watched, or CUPTI watches.
    bool read_totals(trace::ManagedCounters& totals) const noexcept;

    /// A number that changes whenever managed memory may have moved; 0 if that is not known, as with CUPTI,
    /// which reports late. A few loads.
    std::uint64_t activity() const noexcept {
        return counting_.load(std::memory_order_relaxed) ? sum_of_counters() : 0;
    }

    /// Whether the driver reports migrations, even if there was none yet.
    bool watches() const noexcept;

    /// Whether start() has completed, on whichever thread.
    bool settled() const noexcept;

    /// Whether deliver() gives the events up to now, as the driver's queue can.
    bool delivers() const noexcept;

    /// `listener` receives every event from now on.
    void set_listener(ManagedListener listener) noexcept;

    /// Passes the events up to now to the listener. A few loads if there were none since the last call.
    void deliver() noexcept;

    /// Suspends the driver's events while the listener does not need them, or resumes them. Has no effect if
    /// the options name the queue or more of its events.
    void suspend(bool on) noexcept;

    /// The program moved managed memory in a way that the driver's totals may not show: pages that were
    /// resident nowhere.
    void note_change() noexcept { changes_.fetch_add(1, std::memory_order_relaxed); }

    /// Records what is left in the ring and ends the watch. Called at the end of the trace.
    void finish() noexcept;

    /// In a forked child: releases what belongs to the parent.
    void forget() noexcept;

private:
    bool is_wanted() const noexcept;
    static bool begins_early() noexcept;
    bool is_spared() const noexcept;
    std::uint64_t sum_of_counters() const noexcept;
    void start() noexcept;
    void look_at_counters() noexcept;

    trace::ManagedSource source_{};
    ReleaseText release_{};
    std::atomic<bool> begun_{false};
    std::atomic<bool> settled_{false};
    std::atomic<bool> counting_{false};
    std::atomic<bool> listened_to_{false};
    std::atomic<std::uint64_t> changes_{1};
};

ManagedWatch& managed_watch() noexcept;

} // namespace umadvisor::observe
