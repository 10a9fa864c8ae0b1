/// The driver's tools queue as the one who tells of managed memory.
#pragma once

#include "interposer/observe/managed_batch.hpp"

#include <cstdint>
#include <string_view>

namespace umadvisor::observe {

/// Exact totals are read by the program's own calls, which is a few loads; events are taken out of the driver's
/// ring by a thread of our own. Safe from any thread but for open().
class QueueWatch {
public:
    /// Begins to watch. `release` is the driver's. Null, or why the queue cannot be had: a text that stays.
    const char* open(std::string_view release) noexcept;

    /// Until the queue is given up: the program may close its descriptors, ours among them.
    bool watches() const noexcept;

    /// Tells the driver's totals where they have changed.
    void look_at_counters() noexcept;

    /// Whether the driver counts what moves: it watches and is not at rest.
    bool counts() const noexcept;

    /// Grows with whatever moves or faults, while it counts.
    std::uint64_t sum_of_counters() const noexcept;

    /// At rest the driver neither counts nor tells, and moves memory as fast as unwatched. Stays as it is where
    /// another thread is at the ring.
    void rest(bool wanted) noexcept;

    /// Who hears of events as they are taken out of the ring.
    void set_listener(ManagedListener listener) noexcept;

    /// Takes what is in the ring if anything has moved or faulted since the last time, unless another thread is
    /// at it.
    void tell() noexcept;

    /// Takes what is left in the ring and ends the watch.
    void finish() noexcept;

    /// In a forked child: gives up what was the parent's.
    void forget() noexcept;
};

QueueWatch& queue_watch() noexcept;

} // namespace umadvisor::observe
