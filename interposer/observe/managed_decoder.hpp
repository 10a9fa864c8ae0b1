/// Events of the driver's tools interface, as the trace has them.
#pragma once

#include "interposer/observe/fault_joiner.hpp"
#include "residency/tools_interface.hpp"

namespace umadvisor::observe {

/// Makes ManagedEvents of entries. Adjacent faults of one kind in a 2 MiB block become one event, and so do the
/// two ends of a throttling. Times and durations are the driver's, in nanoseconds; `code` is the address of the
/// instruction. Uses no clock, driver or trace.
class ManagedDecoder {
public:
    using Write = WriteManaged;

    constexpr ManagedDecoder() noexcept = default;

    /// Adds the next entry; calls `write(to, event)` for each event that it completes.
    void take(const residency::tools::Entry& entry, Write write, void* to) noexcept;

    /// Writes the events that are not complete yet.
    void finish(Write write, void* to) noexcept;

private:
    static constexpr int most_throttled = 8; ///< processors that wait at the same time

    void begin_throttling(const residency::tools::Throttling& start) noexcept;
    void end_throttling(const residency::tools::Throttling& end, Write write, void* to) noexcept;

    FaultJoiner host_faults_, device_faults_;
    residency::tools::Throttling throttled_[most_throttled]{};
};

} // namespace umadvisor::observe
