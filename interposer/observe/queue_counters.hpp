/// The driver's totals of managed memory, which it counts in memory of ours.
#pragma once

#include "interposer/observe/try_lock.hpp"
#include "trace/managed_records.hpp"

#include <array>
#include <cstdint>

namespace umadvisor::observe {

/// `counters` are those that the driver writes to, residency::tools::counters of them. Thread-safe.
class QueueCounters {
public:
    using Totals = std::array<std::uint64_t, 4>;

    constexpr QueueCounters() noexcept = default;

    static Totals read(const std::uint64_t* counters) noexcept;

    /// The totals as a record of now, less those of `before`.
    static trace::ManagedCounters record_of(const Totals& totals, const Totals& before) noexcept;

    /// Records the totals since begin_recording() if they have changed since the last record. Another thread
    /// that does so is not waited for.
    void record_change(const std::uint64_t* counters) noexcept;

    /// From here on records count from zero.
    void begin_recording(const std::uint64_t* counters) noexcept;

private:
    TryLock lock_; ///< guards what follows
    Totals before_{}, recorded_{};
};

} // namespace umadvisor::observe
