/// The driver's tools queue as the source of events of managed memory.
#pragma once

#include "interposer/observe/managed_batch.hpp"

#include <cstdint>
#include <string_view>

namespace umadvisor::observe {

/// Exact totals are read during the program's own calls, by a few loads; a thread of our own reads events from
/// the driver's ring. Safe from any thread, except open().
class QueueWatch {
public:
    /// Begins to watch. `release` is the driver's. Null, or why the queue cannot be used: a static text.
    const char* open(std::string_view release) noexcept;

    /// False once the queue was given up: the program may close all its descriptors, ours among them.
    bool watches() const noexcept;

    /// Records the driver's totals if they have changed.
    void look_at_counters() noexcept;

    /// Fills in the driver's totals up to now. False while nothing is watched.
    bool read_totals(trace::ManagedCounters& totals) const noexcept;

    /// Whether the driver counts migrations: it watches and is not suspended.
    bool counts() const noexcept;

    /// Grows with every migration and fault, while it counts.
    std::uint64_t sum_of_counters() const noexcept;

    /// While suspended the driver neither counts nor writes events, and moves memory as fast as unwatched. Has
    /// no effect while another thread reads the ring.
    void suspend(bool on) noexcept;

    /// `listener` receives events as they are read from the ring.
    void set_listener(ManagedListener listener) noexcept;

    /// Reads the ring if anything has moved or faulted since the last time, unless another thread reads it.
    void deliver() noexcept;

    /// Records what is left in the ring and ends the watch.
    void finish() noexcept;

    /// Records what the driver has reported so far.
    void write_rest() noexcept;

    /// Suspends the driver's reports until wake(), which counts from zero again.
    void rest() noexcept;
    void wake() noexcept;

    /// In a forked child: releases what belongs to the parent.
    void forget() noexcept;
};

QueueWatch& queue_watch() noexcept;

} // namespace umadvisor::observe
